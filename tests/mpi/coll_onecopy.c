// SPDX-License-Identifier: BSD-3-Clause
// Collectives of large blocks of random sizes, also in place and with layouts that have holes,
// checked byte by byte, while PLIANT_ONECOPY and PLIANT_COLL say how they are done. With an
// argument a filter forbids rank 1 to read memory of other processes: "forbid-first" from the
// start, "forbid-later" in the middle, when others rely on it.
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "t.h"
#include "t_filter.h"

enum { MOST = 1300000, ROUNDS = 24, N_MAX = 16 };

static int me, n;
static unsigned char *out, *in;
static uint64_t state = 99; // the same at all ranks

static const long calls[] = { SYS_process_vm_readv, SYS_process_vm_writev };

static uint32_t any(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

// Byte i of the block from one rank to another.
static unsigned char byte_of(int from, int to, size_t i, int round)
{
    return (unsigned char)((size_t)(from * 37 + to * 11 + round * 5) + i * 3 + (i >> 7));
}

static void fill(unsigned char *p, size_t len, int from, int to, int round)
{
    for (size_t i = 0; i < len; i++) {
        p[i] = byte_of(from, to, i, round);
    }
}

static bool holds(const unsigned char *p, size_t len, int from, int to, int round)
{
    for (size_t i = 0; i < len; i++) {
        if (p[i] != byte_of(from, to, i, round)) {
            return false;
        }
    }
    return true;
}

static void alltoall(size_t len, int round, bool is_in_place)
{
    for (int i = 0; i < n; i++) {
        fill((is_in_place ? in : out) + (size_t)i * len, len, me, i, round);
    }
    MPI_Alltoall(is_in_place ? MPI_IN_PLACE : out, (int)len, MPI_BYTE, in, (int)len, MPI_BYTE,
                 MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        T_OK(holds(in + (size_t)i * len, len, i, me, round));
    }
}

static void allgather(size_t len, int round, bool is_in_place)
{
    fill(is_in_place ? in + (size_t)me * len : out, len, me, 0, round);
    MPI_Allgather(is_in_place ? MPI_IN_PLACE : out, (int)len, MPI_BYTE, in, (int)len, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        T_OK(holds(in + (size_t)i * len, len, i, 0, round));
    }
}

// Blocks of different lengths, the last one empty, in turned order.
static void allgatherv(size_t len, int round, bool is_in_place)
{
    int counts[N_MAX], places[N_MAX];
    for (int i = 0; i < n; i++) {
        counts[i] = i == n - 1 ? 0 : (int)(len / (size_t)(i + 1));
        places[i] = (n - 1 - i) * (int)len;
    }
    size_t mine = (size_t)counts[me];
    fill(is_in_place ? in + places[me] : out, mine, me, 0, round);
    MPI_Allgatherv(is_in_place ? MPI_IN_PLACE : out, (int)mine, MPI_BYTE, in, counts, places,
                   MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        T_OK(holds(in + places[i], (size_t)counts[i], i, 0, round));
    }
}

static void gather(size_t len, int round, bool is_in_place, int root)
{
    bool is_root = me == root;
    is_in_place = is_in_place && is_root;
    fill(is_in_place ? in + (size_t)me * len : out, len, me, root, round);
    MPI_Gather(is_in_place ? MPI_IN_PLACE : out, (int)len, MPI_BYTE, in, (int)len, MPI_BYTE, root,
               MPI_COMM_WORLD);
    for (int i = 0; i < n && is_root; i++) {
        T_OK(holds(in + (size_t)i * len, len, i, root, round));
    }
}

static void scatter(size_t len, int round, bool is_in_place, int root)
{
    for (int i = 0; i < n && me == root; i++) {
        fill(out + (size_t)i * len, len, root, i, round);
    }
    bool is_kept = is_in_place && me == root;
    MPI_Scatter(out, (int)len, MPI_BYTE, is_kept ? MPI_IN_PLACE : in, (int)len, MPI_BYTE, root,
                MPI_COMM_WORLD);
    T_OK(holds(is_kept ? out + (size_t)me * len : in, len, root, me, round));
}

// The root's block is dense, that of the others too or with holes.
static void bcast(size_t len, int round, bool has_holes, int root)
{
    MPI_Datatype pairs;
    MPI_Type_vector((int)len / 2, 1, 2, MPI_SHORT, &pairs);
    MPI_Type_commit(&pairs);
    len = len / 2 * 2;
    if (me == root) {
        fill(out, len, root, 0, round);
        MPI_Bcast(out, (int)len / 2, MPI_SHORT, root, MPI_COMM_WORLD);
    } else if (has_holes) {
        MPI_Bcast(in, 1, pairs, root, MPI_COMM_WORLD);
        for (size_t i = 0; i < len / 2; i++) {
            memmove(in + 2 * i, in + 4 * i, 2);
        }
        T_OK(holds(in, len, root, 0, round));
    } else {
        MPI_Bcast(in, (int)len / 2, MPI_SHORT, root, MPI_COMM_WORLD);
        T_OK(holds(in, len, root, 0, round));
    }
    MPI_Type_free(&pairs);
}

// One rank has a layout with holes: all must do without.
static void holed(size_t len, int round)
{
    MPI_Datatype pairs;
    MPI_Type_vector((int)len / 2, 1, 2, MPI_SHORT, &pairs);
    MPI_Type_commit(&pairs);
    len = len / 2 * 2;
    fill(out, len, me, 0, round);
    if (me == n - 1) {
        unsigned char *wide = calloc((size_t)n * 2, len);
        MPI_Allgather(out, (int)len, MPI_BYTE, wide, 1, pairs, MPI_COMM_WORLD);
        for (size_t i = 0; i < len; i++) { // of rank 0
            if (wide[i / 2 * 4 + i % 2] != byte_of(0, 0, i, round)) {
                T_EQ(wide[i / 2 * 4 + i % 2], byte_of(0, 0, i, round));
                break;
            }
        }
        free(wide);
    } else {
        MPI_Allgather(out, (int)len, MPI_BYTE, in, (int)len, MPI_BYTE, MPI_COMM_WORLD);
        T_OK(holds(in, len, 0, 0, round));
    }
    MPI_Type_free(&pairs);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (strcmp(what, "forbid-first") == 0 && me == 1) {
        T_MUST(t_filter(calls, 2));
    }
    out = malloc((size_t)n * MOST);
    in = malloc((size_t)n * MOST);
    for (int i = 0; i < ROUNDS; i++) {
        size_t len = i % 8 == 5    ? 500000 + any(MOST - 500000) // moved in pieces
                     : any(3) == 0 ? 1 + any(300000)
                                   : 16000 + any(60000);
        bool is_in_place = any(3) == 0;
        int root = (int)any((uint32_t)n);
        if (i == ROUNDS / 2 && strcmp(what, "forbid-later") == 0 && me == 1) {
            T_MUST(t_filter(calls, 2));
        }
        alltoall(len, i, is_in_place);
        allgather(len, i, is_in_place);
        allgatherv(len, i, is_in_place);
        gather(len, i, is_in_place, root);
        scatter(len, i, is_in_place, root);
        bcast(len, i, is_in_place, root);
        bcast(len / 64, i, !is_in_place, n - 1 - root);
        if (i % 4 == 0) {
            holed(len, i);
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return t_status();
}
