// SPDX-License-Identifier: BSD-3-Clause
// An iterative solver whose number of ranks changes while it runs, with the same answer as if it
// had not.
//
//     mpiexec --elastic 1:8 -n 2 ./resize [STEPS [CHANGES]] &
//     mpictl grow 6
//     mpictl shrink 5
//
// Jacobi relaxation of a plate of SIDE x SIDE points, cut into blocks of rows. In every step the
// ranks agree on the newest version of the world that all of them have seen, and take it up
// together: rows go from their old owners to their new ones, and the ranks that are to leave do so.
//
// With CHANGES the program waits, at even distances, until so many changes have come: for tests.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 258, INNER = SIDE - 2 };

struct block { // rows first to first + n - 1 of the inner ones, and one more on either side
    int first, n;
    double *at;
};

static MPI_Comm world; // the version that the ranks work in
static int version, step, steps = 20000, changes;
static struct block mine;

static int first_of(int rank, int size)
{
    return (int)((long long)INNER * rank / size);
}

static double *row(const struct block *b, int i) // by number among all inner rows
{
    return b->at + (size_t)(i - b->first + 1) * SIDE;
}

// An empty block for a rank; sizes beyond the last rank have no rows.
static struct block make(int rank, int size)
{
    int first = rank < size ? first_of(rank, size) : INNER;
    struct block b = { first, rank < size ? first_of(rank + 1, size) - first : 0, NULL };
    b.at = calloc((size_t)(b.n + 2) * SIDE, sizeof *b.at);
    if (b.n > 0 && b.first == 0) {
        for (int j = 0; j < SIDE; j++) {
            b.at[j] = 1; // the plate is warm at one side
        }
    }
    return b;
}

// Both partitions are known to all: what a rank of `wide` sends to another is where its old rows
// and the other's new rows meet.
static void move_rows(MPI_Comm wide, int old_size, int new_size)
{
    int rank, size;
    MPI_Comm_rank(wide, &rank);
    MPI_Comm_size(wide, &size);
    struct block next = make(rank, new_size);
    int *n = calloc((size_t)size * 4, sizeof *n), *out = n, *out_at = n + size, *in = n + 2 * size;
    int *in_at = n + 3 * size;
    for (int r = 0; r < size; r++) {
        int to = r < new_size ? first_of(r, new_size) : INNER;
        int to_end = r < new_size ? first_of(r + 1, new_size) : INNER;
        int from = r < old_size ? first_of(r, old_size) : INNER;
        int from_end = r < old_size ? first_of(r + 1, old_size) : INNER;
        int a = to > mine.first ? to : mine.first;
        int b = to_end < mine.first + mine.n ? to_end : mine.first + mine.n;
        out[r] = b > a && mine.n > 0 ? (b - a) * SIDE : 0;
        out_at[r] = out[r] > 0 ? (int)(row(&mine, a) - mine.at) : 0;
        a = from > next.first ? from : next.first;
        b = from_end < next.first + next.n ? from_end : next.first + next.n;
        in[r] = b > a && next.n > 0 ? (b - a) * SIDE : 0;
        in_at[r] = in[r] > 0 ? (int)(row(&next, a) - next.at) : 0;
    }
    MPI_Alltoallv(mine.at, out, out_at, MPI_DOUBLE, next.at, in, in_at, MPI_DOUBLE, wide);
    free(n);
    free(mine.at);
    mine = next;
}

// The ranks of the larger of two versions meet in it: the new one when ranks have come, the old one
// when some are to leave. old_size 0: this rank has just come. False: it is to leave.
static int take_up(MPI_Comm next, int v, int old_size)
{
    int head[3] = { step, old_size, 0 };
    if (next != MPI_COMM_NULL) {
        MPI_Comm_size(next, &head[2]);
    }
    MPI_Comm wide = next != MPI_COMM_NULL && head[2] > old_size ? next : world;
    MPI_Bcast(head, 3, MPI_INT, 0, wide); // rank 0 is always an old one
    step = head[0];
    move_rows(wide, head[1], head[2]);
    world = next;
    version = v;
    return next != MPI_COMM_NULL;
}

// Look for a new version. False: this rank is to leave.
static int look(void)
{
    int newest, agreed, size;
    MPI_Comm next;
    MPIX_World_version(&newest);
    newest = newest > version + 1 ? version + 1 : newest; // one at a time
    MPI_Allreduce(&newest, &agreed, 1, MPI_INT, MPI_MIN, world);
    if (agreed == version) {
        return 1;
    }
    MPIX_Comm_world_at(agreed, &next);
    MPI_Comm_size(world, &size);
    return take_up(next, agreed, size) && look(); // as ranks that have just come do first
}

// The first version that this process is a member of is its MPI_COMM_WORLD.
static void arrive(void)
{
    int v = 0, rank, size;
    MPI_Comm c = MPI_COMM_NULL;
    while (MPIX_Comm_world_at(v, &c) == MPI_SUCCESS && c == MPI_COMM_NULL) {
        v++;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    world = MPI_COMM_WORLD;
    mine = v == 0 ? make(rank, size) : make(0, 0);
    if (v > 0) {
        take_up(MPI_COMM_WORLD, v, 0);
    }
}

static void relax(void)
{
    int rank, size, last = mine.first + mine.n - 1;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int after = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row(&mine, mine.first), SIDE, MPI_DOUBLE, before, 0, row(&mine, last + 1), SIDE,
                 MPI_DOUBLE, after, 0, world, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(&mine, last), SIDE, MPI_DOUBLE, after, 1, row(&mine, mine.first - 1), SIDE,
                 MPI_DOUBLE, before, 1, world, MPI_STATUS_IGNORE);
    struct block next = { mine.first, mine.n,
                          malloc((size_t)(mine.n + 2) * SIDE * sizeof(double)) };
    memcpy(next.at, mine.at, (size_t)(mine.n + 2) * SIDE * sizeof(double));
    for (int i = mine.first; i <= last; i++) {
        for (int j = 1; j < SIDE - 1; j++) {
            row(&next, i)[j] = (row(&mine, i - 1)[j] + row(&mine, i + 1)[j] + row(&mine, i)[j - 1] +
                                row(&mine, i)[j + 1]) /
                               4;
        }
    }
    free(mine.at);
    mine = next;
    step++;
}

// All rows to rank 0, which prints what is the same for every number of ranks, to the last bit.
static void report(void)
{
    int size;
    MPI_Comm_size(world, &size);
    move_rows(world, size, 1);
    if (mine.n == 0) {
        return;
    }
    uint64_t digest = 0xcbf29ce484222325u;
    double sum = 0;
    const unsigned char *bytes = (const unsigned char *)row(&mine, 0);
    for (size_t i = 0; i < (size_t)INNER * SIDE * sizeof(double); i++) {
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    }
    for (int i = 0; i < INNER * SIDE; i++) {
        sum += row(&mine, 0)[i];
    }
    printf("%d steps, %d changes, %d ranks at the end: sum %.9f, digest %016llx\n", step, version,
           size, sum, (unsigned long long)digest);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    steps = argc > 1 ? atoi(argv[1]) : steps;
    changes = argc > 2 ? atoi(argv[2]) : 0;
    arrive();
    int stays = 1;
    while (step < steps && (stays = look())) {
        if (version < (int)((long long)step * (changes + 1) / steps)) {
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); // a change is due
        } else {
            relax();
        }
    }
    if (stays) {
        report();
    }
    free(mine.at);
    MPI_Finalize();
    return 0;
}
