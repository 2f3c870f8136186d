// SPDX-License-Identifier: BSD-3-Clause
// Several threads of each rank at windows: one that all use, and one for each.
#include "t.h"

#include <mpi.h>
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 60, LEN = 3000 };

static int me, n;
static MPI_Win common;
static MPI_Comm comms[THREADS];

static int use_common(int id)
{
    int bad = 0;
    long one = 1, got, last = -1;
    for (int i = 0; i < ROUNDS; i++) {
        int to = (me + id + i) % n, mine = (me * THREADS + id) * 1000 + i, back = -1;
        MPI_Aint at = 2 + me * THREADS + id;
        long word = mine;
        MPI_Request req;
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, common);
        MPI_Win_flush(0, common);
        bad += got <= last;
        last = got;
        MPI_Rput(&word, 1, MPI_LONG, to, at, 1, MPI_LONG, common, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        MPI_Win_flush(to, common);
        word = -1;
        MPI_Rget(&word, 1, MPI_LONG, to, at, 1, MPI_LONG, common, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        back = (int)word;
        bad += back != mine;
        MPI_Accumulate(&one, 1, MPI_LONG, to, 1, 1, MPI_LONG, MPI_SUM, common);
    }
    return bad;
}

static int use_own(int id)
{
    int right = (me + 1) % n, left = (me + n - 1) % n, bad = 0;
    int *mem = malloc(LEN * sizeof *mem), *mine = malloc(LEN * sizeof *mine);
    MPI_Win win;
    MPI_Win_create(mem, LEN * sizeof *mem, sizeof *mem, MPI_INFO_NULL, comms[id], &win);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LEN; i++) {
            mine[i] = round * 10000 + me * 100 + id;
        }
        MPI_Win_fence(0, win);
        MPI_Put(mine, LEN, MPI_INT, right, 0, LEN, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < LEN; i++) {
            bad += mem[i] != round * 10000 + left * 100 + id;
        }
    }
    MPI_Win_free(&win);
    free(mem);
    free(mine);
    return bad;
}

static void *work(void *arg)
{
    int *bad = arg, id = *bad;
    *bad = use_common(id) + use_own(id);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, result[THREADS];
    long *mem;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Aint len = (2 + n * THREADS) * (MPI_Aint)sizeof *mem;
    MPI_Win_allocate(len, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &common);
    mem[0] = mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, common);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        result[i] = i;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, &result[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        T_EQ(result[i], 0);
        MPI_Comm_free(&comms[i]);
    }
    MPI_Win_unlock_all(common);
    long all;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&mem[1], &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    T_EQ(all, (long)n * THREADS * ROUNDS);
    if (me == 0) {
        T_EQ(mem[0], (long)n * THREADS * ROUNDS);
    }
    MPI_Win_free(&common);
    MPI_Finalize();
    return t_status();
}
