// SPDX-License-Identifier: BSD-3-Clause
// Locks, flushes, and the accumulating calls that get something back.
#include "t.h"

#include <mpi.h>
#include <stdint.h>

static int me, n;

enum { ROUNDS = 200 };

// Without the lock some of the additions would be lost.
static void check_lock(MPI_Win win, long *mem)
{
    mem[0] = mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        int to = (me + i) % n;
        long v[2];
        T_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win), 0);
        MPI_Get(v, 2, MPI_LONG, to, 0, 2, MPI_LONG, win);
        T_EQ(MPI_Win_flush(to, win), 0);
        T_EQ(v[0], v[1]);
        v[0]++;
        MPI_Put(v, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
        MPI_Put(v, 1, MPI_LONG, to, 1, 1, MPI_LONG, win);
        T_EQ(MPI_Win_unlock(to, win), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long all = 0;
    for (int i = 0; i < n; i++) {
        long v = -1;
        MPI_Win_lock(MPI_LOCK_SHARED, i, i % 2 ? 0 : MPI_MODE_NOCHECK, win);
        MPI_Get(&v, 1, MPI_LONG, i, 1, 1, MPI_LONG, win);
        MPI_Win_unlock(i, win);
        all += v;
    }
    T_EQ(all, (long)ROUNDS * n);
    MPI_Barrier(MPI_COMM_WORLD);
}

// A ticket from each rank, each number once; and counters by compare and swap.
static void check_fetch(MPI_Win win, long *mem)
{
    static char seen[ROUNDS * 64];
    long one = 1, got, sum = 0, want;
    mem[0] = mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_Win_lock_all(0, win), 0);
    long last = -1;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, win);
        T_EQ(MPI_Win_flush(0, win), 0);
        T_OK(got > last && got < (long)ROUNDS * n);
        last = got;
        seen[got]++;
    }
    for (int i = 0; i < ROUNDS / 4; i++) {
        long was = 0, next;
        for (int done = 0; !done;) {
            next = was + 3;
            MPI_Compare_and_swap(&next, &was, &got, MPI_LONG, n - 1, 1, win);
            MPI_Win_flush(n - 1, win);
            done = got == was;
            was = got;
        }
    }
    T_EQ(MPI_Win_flush_all(win), 0);
    T_EQ(MPI_Win_flush_local_all(win), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(NULL, &got, MPI_LONG, n - 1, 1, MPI_NO_OP, win);
    T_EQ(MPI_Win_unlock_all(win), 0);
    T_EQ(got, (long)n * (ROUNDS / 4) * 3);
    MPI_Allreduce(MPI_IN_PLACE, seen, ROUNDS * n, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS * n; i++) {
        sum += seen[i] == 1;
    }
    memset(seen, 0, sizeof seen);
    want = (long)ROUNDS * n;
    T_EQ(sum, want);
}

// Requests; results in a layout with holes; all operations.
static void check_requests(void)
{
    enum { LEN = 6000 };
    int *mem, mine[LEN], old[2 * LEN], right = (me + 1) % n, bad = 0;
    MPI_Win win;
    MPI_Datatype sparse;
    MPI_Request reqs[3];
    MPI_Win_allocate(LEN * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Type_vector(LEN, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    for (int i = 0; i < LEN; i++) {
        mem[i] = -5;
        mine[i] = me + i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    T_EQ(MPI_Rput(mine, LEN, MPI_INT, right, 0, LEN, MPI_INT, win, &reqs[0]), 0);
    T_EQ(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE), 0);
    MPI_Win_flush(right, win);
    MPI_Rget_accumulate(mine, LEN, MPI_INT, old, 1, sparse, right, 0, LEN, MPI_INT, MPI_SUM, win,
                        &reqs[0]);
    MPI_Type_free(&sparse);
    MPI_Raccumulate(mine, 1, MPI_INT, right, LEN - 1, 1, MPI_INT, MPI_REPLACE, win, &reqs[1]);
    MPI_Rput(mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &reqs[2]);
    T_EQ(MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE), 0);
    T_OK(reqs[0] == MPI_REQUEST_NULL);
    for (int i = 0; i < LEN; i++) {
        bad += old[2 * i] != me + i;
        old[i / 2] = 0;
    }
    T_EQ(bad, 0);
    MPI_Win_flush(right, win);
    T_EQ(MPI_Rget(old, LEN, MPI_INT, right, 0, LEN, MPI_INT, win, &reqs[0]), 0);
    T_EQ(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE), 0);
    for (int i = 0; i < LEN - 1; i++) {
        bad += old[i] != 2 * (me + i);
    }
    T_EQ(bad, 0);
    T_EQ(old[LEN - 1], me);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

// Who only looks at its own memory, again and again, must let the others write to it.
static void check_spin(MPI_Win win, long *mem)
{
    int right = (me + 1) % n;
    long got = 0, one = 1;
    mem[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == n - 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
        MPI_Put(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(right, win);
    }
    while (got == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
        MPI_Get(&got, 1, MPI_LONG, me, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(me, win);
    }
    if (me != n - 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        MPI_Put(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(right, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    long *mem;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            MPI_Win_allocate(2 * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                             &win);
        } else {
            mem = malloc(2 * sizeof *mem);
            MPI_Win_create(mem, 2 * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        check_lock(win, mem);
        check_fetch(win, mem);
        check_spin(win, mem);
        MPI_Win_free(&win);
        if (i == 1) {
            free(mem);
        }
    }
    check_requests();
    MPI_Finalize();
    return t_status();
}
