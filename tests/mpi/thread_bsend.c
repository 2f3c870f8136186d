// SPDX-License-Identifier: BSD-3-Clause
// A thread that flushes the buffer does not keep the others from sending out of it: here the flush
// can only end after they have.
#include <mpi.h>
#include <pthread.h>
#include <time.h>

#include "t.h"

enum { BIG = 200000, ROUNDS = 20 };

static int rank;
static int big[BIG], small = 5;

static void *flush(void *arg)
{
    int round = *(int *)arg;
    if (round % 2) {
        T_MUST(MPI_Buffer_flush() == MPI_SUCCESS);
    } else {
        MPI_Request r;
        T_MUST(MPI_Buffer_iflush(&r) == MPI_SUCCESS);
        T_MUST(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    return NULL;
}

static void sender(int round)
{
    T_MUST(MPI_Bsend(big, BIG, MPI_INT, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    pthread_t t;
    T_MUST(pthread_create(&t, NULL, flush, &round) == 0);
    nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL); // most of the time it waits by then
    T_MUST(MPI_Bsend(&small, 1, MPI_INT, 1, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    T_MUST(pthread_join(t, NULL) == 0);
}

static void receiver(void)
{
    int got = 0;
    static int all[BIG];
    T_MUST(MPI_Recv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    T_OK(got == small);
    T_MUST(MPI_Recv(all, BIG, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    T_OK(memcmp(all, big, sizeof all) == 0);
}

int main(int argc, char **argv)
{
    int level, length = 0;
    T_MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < BIG; i++) {
        big[i] = 3 * i;
    }
    static char buffer[4 * BIG * 4];
    T_MUST(MPI_Buffer_attach(buffer, sizeof buffer) == MPI_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            sender(i);
        } else {
            receiver();
        }
    }
    void *back = NULL;
    T_MUST(MPI_Buffer_detach(&back, &length) == MPI_SUCCESS);
    T_OK(back == buffer && length == (int)sizeof buffer);
    MPI_Finalize();
    return t_status();
}
