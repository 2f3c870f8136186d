// SPDX-License-Identifier: BSD-3-Clause
// Long puts and gets, of which the target copies a part while it waits: random places and lengths
// in memory of MPI_Win_allocate, MPI_Win_allocate_shared and MPI_Win_create, several in a row and
// one again and again, with and without a request, checked byte by byte, while targets wait, access
// too or compute. With the argument "forbid" a filter forbids rank 1 to read memory of others.
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "t.h"
#include "t_filter.h"

enum { PART = 3 << 20, ROUNDS = 12, ROW = 3, KINDS = 3 };

static const long calls[] = { SYS_process_vm_readv, SYS_process_vm_writev };

static int me, n;
static uint64_t state;

static size_t any(size_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(state >> 20) % below;
}

static void fill(unsigned char *p, size_t len, size_t seed)
{
    for (size_t i = 0; i < len; i++) {
        p[i] = (unsigned char)(seed * 29 + i * 3 + (i >> 9));
    }
}

// Whether all ranks are on one host, so that they can have a window of MPI_Win_allocate_shared.
static bool is_one_host(void)
{
    int here;
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    return here == n;
}

// Memory of the window at this rank: a part for each origin.
static MPI_Win make(int kind, unsigned char **mem)
{
    MPI_Win win;
    MPI_Aint size = (MPI_Aint)n * PART;
    if (kind == 0) {
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, mem, &win);
    } else if (kind == 1) {
        MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, mem, &win);
    } else {
        *mem = malloc((size_t)size);
        MPI_Win_create(*mem, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    return win;
}

static void access(MPI_Win win, int target, int round, unsigned char *out, unsigned char *in)
{
    size_t len = 100000 + any(round % 3 == 0 ? PART / ROW - 100000 : 500000), at[ROW];
    bool is_again = round % 4 == 1, has_request = round % 4 == 2;
    for (int i = 0; i < ROW; i++) {
        MPI_Request r;
        at[i] = (size_t)me * PART + (is_again ? 0 : (size_t)i * (PART / ROW));
        fill(out + (size_t)i * len, len, (size_t)round + (is_again ? 0 : (size_t)i));
        if (has_request) {
            MPI_Rput(out + (size_t)i * len, (int)len, MPI_BYTE, target, (MPI_Aint)at[i], (int)len,
                     MPI_BYTE, win, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else {
            MPI_Put(out + (size_t)i * len, (int)len, MPI_BYTE, target, (MPI_Aint)at[i], (int)len,
                    MPI_BYTE, win);
        }
        if (is_again) {
            MPI_Win_flush(target, win);
        }
    }
    MPI_Win_flush(target, win);
    for (int i = 0; i < ROW; i++) {
        memset(in + (size_t)i * len, 0, len);
        MPI_Get(in + (size_t)i * len, (int)len, MPI_BYTE, target, (MPI_Aint)at[i], (int)len,
                MPI_BYTE, win);
    }
    MPI_Win_flush(target, win);
    T_OK(memcmp(in, out, ROW * len) == 0);
}

static void one_kind(int kind, unsigned char *out, unsigned char *in)
{
    unsigned char *mem;
    MPI_Win win = make(kind, &mem);
    memset(mem, 1, (size_t)n * PART);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        int target = (me + 1 + (int)any((size_t)n)) % n;
        if (round % 3 != 0 || me % 2 == 0) { // else rank 1 waits
            access(win, target, round, out, in);
        }
        if (round % 2 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Win_unlock_all(win);
    // What the last access of an even rank left at its neighbour.
    size_t len = 200000;
    MPI_Win_fence(0, win);
    fill(out, len, (size_t)me + 100);
    MPI_Put(out, (int)len, MPI_BYTE, (me + 1) % n, (MPI_Aint)me * PART, (int)len, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    int from = (me + n - 1) % n;
    fill(in, len, (size_t)from + 100);
    T_OK(memcmp(mem + (size_t)from * PART, in, len) == 0);
    MPI_Win_free(&win);
    if (kind == 2) {
        free(mem);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    state = (uint64_t)me * 77 + 5;
    if (argc > 1 && me == 1) {
        T_MUST(t_filter(calls, 2));
    }
    unsigned char *out = malloc(PART), *in = malloc(PART);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind != 1 || is_one_host()) {
            one_kind(kind, out, in);
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return t_status();
}
