// SPDX-License-Identifier: BSD-3-Clause
// Threads that go to sleep at one mailbox all the time are woken: round trips of several threads at
// once. Run without looking and giving way, so that every wait is a sleep.
#include <mpi.h>
#include <pthread.h>

#include "t.h"

enum { N_THREAD = 4, N_ROUND = 20000 };

static int rank;

static void *play(void *arg)
{
    int tag = (int)(long)arg, peer = rank ^ 1, word = -1;
    for (int i = 0; i < N_ROUND; i++) {
        if (rank == 0) {
            T_MUST(MPI_Send(&i, 1, MPI_INT, peer, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
        T_MUST(MPI_Recv(&word, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
        T_MUST(word == i);
        if (rank == 1) {
            T_MUST(MPI_Send(&word, 1, MPI_INT, peer, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t t[N_THREAD];
    T_MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    T_EQ(provided, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < N_THREAD; i++) {
        T_MUST(pthread_create(&t[i], NULL, play, (void *)i) == 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(t[i], NULL);
    }
    MPI_Finalize();
    return t_status();
}
