// SPDX-License-Identifier: BSD-3-Clause
// Long and short accesses to the next rank, again and again, so that also those are seen which go
// by another way than the first: in all kinds of epoch, over the borders of what a network
// registers in one piece, with holes, and beside accumulations.
#include "t.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BORDER = 16 << 20, SIZE = BORDER + (1 << 20), LONG = 100000, ROUNDS = 4 };
enum { COUNT_AT = 0, WORD_AT = 64, HOLES_AT = 4096, LONG_AT = BORDER - LONG / 2 };

static int me, n, next, prev;
static char *mem; // of this rank
static MPI_Win win;
static unsigned char *mine, *got;

static unsigned char value(int rank, int round, size_t i)
{
    return (unsigned char)((size_t)rank * 31 + (size_t)round * 7 + i * 3 + i / 251);
}

static void fill(unsigned char *to, int rank, int round, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        to[i] = value(rank, round, i);
    }
}

// My memory has what the rank before me put.
static void check_mine(int round)
{
    int64_t word;
    fill(got, prev, round, LONG);
    memcpy(&word, mem + WORD_AT, sizeof word);
    T_EQ(memcmp(mem + LONG_AT, got, LONG), 0);
    T_EQ(word, prev * 1000 + round);
}

static void put_both(int round)
{
    static int64_t word;
    word = me * 1000 + round;
    fill(mine, me, round, LONG);
    MPI_Put(mine, LONG, MPI_BYTE, next, LONG_AT, LONG, MPI_BYTE, win);
    MPI_Put(&word, 1, MPI_INT64_T, next, WORD_AT, 1, MPI_INT64_T, win);
}

// What I put is there: a get after a completion sees it.
static void get_both(int round)
{
    int64_t word = -1;
    memset(got, 0, LONG);
    MPI_Get(got, LONG, MPI_BYTE, next, LONG_AT, LONG, MPI_BYTE, win);
    MPI_Get(&word, 1, MPI_INT64_T, next, WORD_AT, 1, MPI_INT64_T, win);
    MPI_Win_flush(next, win);
    T_EQ(memcmp(mine, got, LONG), 0);
    T_EQ(word, me * 1000 + round);
}

static void fences(int round)
{
    MPI_Win_fence(0, win);
    put_both(round);
    MPI_Win_fence(0, win);
    check_mine(round);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void exposures(MPI_Group to, MPI_Group from, int round)
{
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    put_both(round);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    check_mine(round);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void locks(int round)
{
    MPI_Request req[2];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    put_both(round);
    MPI_Win_flush(next, win);
    get_both(round);
    fill(mine, me, round + 1, LONG);
    MPI_Rput(mine, LONG, MPI_BYTE, next, LONG_AT, LONG, MPI_BYTE, win, &req[0]);
    MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(next, win);
    memset(got, 0, LONG);
    MPI_Rget(got, LONG, MPI_BYTE, next, LONG_AT, LONG, MPI_BYTE, win, &req[1]);
    MPI_Wait(&req[1], MPI_STATUS_IGNORE);
    T_EQ(memcmp(mine, got, LONG), 0);
    put_both(round); // the unlock completes it
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    check_mine(round);
    MPI_Win_unlock(me, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

// With holes at the target, and additions of all ranks at rank 0.
static void mixed(MPI_Datatype holes, int round)
{
    enum { N = 100 };
    int32_t some[N], back[2 * N];
    int64_t one = 1, old = -1;
    for (int i = 0; i < N; i++) {
        some[i] = me * 10000 + round * 1000 + i;
    }
    MPI_Win_lock_all(0, win);
    MPI_Put(some, N, MPI_INT32_T, next, HOLES_AT, 1, holes, win);
    MPI_Win_flush(next, win);
    MPI_Get(back, 2 * N - 1, MPI_INT32_T, next, HOLES_AT, 2 * N - 1, MPI_INT32_T, win);
    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, COUNT_AT, MPI_SUM, win);
    put_both(round);
    MPI_Win_unlock_all(win);
    for (int i = 0; i < N; i++) {
        T_EQ(back[2 * i], some[i]);
        T_OK(i == N - 1 || back[2 * i + 1] == 0x11111111);
    }
    T_OK(old >= 0 && old < (int64_t)n * ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    check_mine(round);
    MPI_Win_unlock(me, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all(void)
{
    MPI_Group world, to, from;
    MPI_Datatype holes;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &prev, &from);
    MPI_Type_vector(100, 1, 2, MPI_INT32_T, &holes);
    MPI_Type_commit(&holes);
    memset(mem, 0, HOLES_AT);
    memset(mem + HOLES_AT, 0x11, 4096);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        fences(4 * round);
        exposures(to, from, 4 * round + 1);
        locks(4 * round + 2);
        mixed(holes, 4 * round + 3);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    int64_t count;
    memcpy(&count, mem + COUNT_AT, sizeof count);
    T_EQ(count, me == 0 ? (int64_t)n * ROUNDS : 0);
    MPI_Win_unlock(me, win);
    MPI_Type_free(&holes);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    next = (me + 1) % n;
    prev = (me + n - 1) % n;
    mine = malloc(LONG);
    got = malloc(LONG);
    MPI_Win_allocate(SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_set_name(win, "allocated");
    all();
    char *own = malloc(SIZE);
    mem = own;
    MPI_Win_create(mem, SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "created");
    all();
    free(own);
    free(mine);
    free(got);
    MPI_Finalize();
    return t_status();
}
