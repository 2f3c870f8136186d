// SPDX-License-Identifier: BSD-3-Clause
// Collectives in which ranks run ahead of each other, at random: kinds, roots and sizes, while a
// rank is late now and then. Nothing that was posted is lost or overwritten.
#include "coll_t.h"

#include <sched.h>
#include <stdint.h>

enum { ROUNDS = 1500, AHEAD = 64, MOST = 2500 }; // ints; 2,048 fit a posting, 8,192 a large one

static uint32_t seed = 12345;

static int draw(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)below);
}

static int sample(int round, int from, int to, int i)
{
    return round * 7919 + from * 101 + to * 13 + i;
}

static int *in, *out, counts[64], displs[64];

static void fill(int *at, int round, int from, int to, int len)
{
    for (int i = 0; i < len; i++) {
        at[i] = sample(round, from, to, i);
    }
}

static void check(const int *at, int round, int from, int to, int len)
{
    int n_bad = 0;
    for (int i = 0; i < len; i++) {
        n_bad += at[i] != sample(round, from, to, i);
    }
    T_EQ(n_bad, 0);
}

// A length of its own for each pair of ranks.
static int length_of(int base, int from, int to)
{
    return base == 0 ? 0 : (base + from * 3 + to) % MOST;
}

static void gathers(int round, int root, int base, int is_v)
{
    MPI_Comm c = MPI_COMM_WORLD;
    for (int i = 0; i < n; i++) {
        counts[i] = is_v ? length_of(base, i, root) : base;
        displs[i] = i * MOST;
    }
    fill(in, round, me, root, counts[me]);
    if (is_v) {
        GOOD(MPI_Gatherv(in, counts[me], MPI_INT, out, counts, displs, MPI_INT, root, c));
    } else {
        GOOD(MPI_Gather(in, base, MPI_INT, out, base, MPI_INT, root, c));
    }
    for (int i = 0; i < n && me == root; i++) {
        check(out + (is_v ? displs[i] : i * base), round, i, root, counts[i]);
    }
}

static const int lengths[] = { 0, 1, 2, 24, 25, 300, 900, 2048, 2100 };
enum { N_LENGTH = sizeof lengths / sizeof lengths[0] };

// Alike, by pairs, or each of another order of magnitude, some of which go by messages.
enum spread { EVEN, NEAR, WIDE };

static int part_of(enum spread s, int base, int root, int to)
{
    return s == EVEN   ? base
           : s == NEAR ? length_of(base, root, to)
                       : lengths[(base + root + to * 5) % N_LENGTH];
}

static void scatters(int round, int root, int base, enum spread s)
{
    int len = part_of(s, base, root, me);
    for (int i = 0; i < n; i++) {
        counts[i] = part_of(s, base, root, i);
        displs[i] = s == EVEN ? i * base : i * MOST;
        fill(in + displs[i], round, root, i, counts[i]);
    }
    MPI_Comm c = MPI_COMM_WORLD;
    if (s == EVEN) {
        GOOD(MPI_Scatter(in, base, MPI_INT, out, base, MPI_INT, root, c));
    } else {
        GOOD(MPI_Scatterv(in, counts, displs, MPI_INT, out, len, MPI_INT, root, c));
    }
    check(out, round, root, me, len);
}

static void allgatherv(int round, int base)
{
    for (int i = 0; i < n; i++) {
        counts[i] = length_of(base, i, 0);
        displs[i] = i * MOST;
    }
    fill(in, round, me, 0, counts[me]);
    GOOD(MPI_Allgatherv(in, counts[me], MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++) {
        check(out + displs[i], round, i, 0, counts[i]);
    }
}

static void alltoallv(int round, int base)
{
    int to[64], from[64];
    for (int i = 0; i < n; i++) {
        to[i] = length_of(base, me, i);
        from[i] = length_of(base, i, me);
        displs[i] = i * MOST;
        fill(in + displs[i], round, me, i, to[i]);
    }
    GOOD(MPI_Alltoallv(in, to, displs, MPI_INT, out, from, displs, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++) {
        check(out + displs[i], round, i, me, from[i]);
    }
}

static void scans(int round, int len, int is_exclusive, int is_in_place)
{
    MPI_Comm c = MPI_COMM_WORLD;
    fill(in, round, me, 0, len);
    fill(out, round, me, 0, len);
    const void *from = is_in_place ? MPI_IN_PLACE : in;
    if (is_exclusive) {
        GOOD(MPI_Exscan(from, out, len, MPI_INT, MPI_SUM, c));
    } else {
        GOOD(MPI_Scan(from, out, len, MPI_INT, MPI_SUM, c));
    }
    int end = is_exclusive ? me : me + 1, n_bad = 0;
    for (int i = 0; i < len && end > 0; i++) {
        int sum = 0;
        for (int r = 0; r < end; r++) {
            sum += sample(round, r, 0, i);
        }
        n_bad += out[i] != sum;
    }
    T_EQ(n_bad, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    in = fresh((size_t)MOST * (size_t)n);
    out = fresh((size_t)MOST * (size_t)n);
    for (int round = 0; round < ROUNDS; round++) {
        int kind = draw(10), root = draw(n), len = lengths[draw(N_LENGTH)], late = draw(8 * n);
        // A time, not a number of calls: each may take milliseconds on a busy machine.
        for (double end = MPI_Wtime() + 30e-6; late == me && MPI_Wtime() < end;) {
            sched_yield();
        }
        if (kind <= 1) {
            gathers(round, root, len, kind);
        } else if (kind == 2) {
            scatters(round, root, len, NEAR);
        } else if (kind >= 8) {
            scatters(round, root, len, kind == 8 ? EVEN : WIDE);
        } else if (kind == 3) {
            allgatherv(round, len);
        } else if (kind == 4) {
            alltoallv(round, len);
        } else if (kind < 7) {
            scans(round, len, kind == 5, root == 0);
        } else {
            GOOD(MPI_Bcast(out, len, MPI_INT, root, MPI_COMM_WORLD));
        }
    }
    for (int round = 0; round < AHEAD; round++) { // large postings of a root that waits for nobody
        scatters(round, 0, 900, NEAR);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return t_status();
}
