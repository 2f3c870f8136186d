// SPDX-License-Identifier: BSD-3-Clause
// Threads of each rank run collectives at the same time, each on a communicator of its own:
// blocking and nonblocking, short and long.
#include "coll_t.h"

#include <pthread.h>

enum { N_THREAD = 3, N_ROUND = 120, LONG = 20000 };

static MPI_Comm comms[N_THREAD];

static void round_of(MPI_Comm c, int t, int i, int *a, int *b)
{
    int len = i % 20 == 19 ? LONG : i % 7 * 9 + 1;
    for (int k = 0; k < len; k++) {
        a[k] = me + t + k;
    }
    T_MUST(MPI_Allreduce(a, b, len, MPI_INT, MPI_SUM, c) == MPI_SUCCESS);
    for (int k = 0; k < len; k++) {
        T_MUST(b[k] == n * (n - 1) / 2 + n * (t + k));
    }
    MPI_Request q[3];
    int x = me, y = -1, z = me == i % n ? i : -1;
    T_MUST(MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_MAX, c, &q[0]) == MPI_SUCCESS);
    T_MUST(MPI_Ibarrier(c, &q[1]) == MPI_SUCCESS);
    T_MUST(MPI_Ibcast(&z, 1, MPI_INT, i % n, c, &q[2]) == MPI_SUCCESS);
    T_MUST(MPI_Waitall(3, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    T_MUST(y == n - 1 && z == i);
    T_MUST(MPI_Bcast(a, len, MPI_INT, i % n, c) == MPI_SUCCESS);
    T_MUST(a[len - 1] == i % n + t + len - 1);
    T_MUST(MPI_Barrier(c) == MPI_SUCCESS);
}

static void *work(void *arg)
{
    int t = (int)(long)arg;
    int *a = fresh(LONG), *b = fresh(LONG);
    for (int i = 0; i < N_ROUND; i++) {
        round_of(comms[t], t, i, a, b);
    }
    free(a);
    free(b);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    pthread_t threads[N_THREAD];
    for (int t = 0; t < N_THREAD; t++) {
        GOOD(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    }
    for (long t = 0; t < N_THREAD; t++) {
        T_MUST(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
    }
    for (int t = 0; t < N_THREAD; t++) {
        pthread_join(threads[t], NULL);
        GOOD(MPI_Comm_free(&comms[t]));
    }
    MPI_Finalize();
    return t_status();
}
