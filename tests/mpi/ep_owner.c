// SPDX-License-Identifier: BSD-3-Clause
// A thread that uses an endpoint alone comes to own its lane. When it then waits outside MPI, what
// it left behind must still move on, by another thread that waits, on another endpoint or the same.
#include "ep_t.h"

#include <semaphore.h>

enum { MANY = 2000, LARGE = 1 << 20, ROUNDS = 6 };

static int me;
static sem_t begun, over;

// Messages enough to own the lane.
static void use(MPI_Comm c, int peer)
{
    for (int i = 0; i < MANY; i++) {
        int out = i, in = -1;
        MPI_Request r[2];
        MPI_Irecv(&in, 1, MPI_INT, peer, 1, c, &r[0]);
        MPI_Isend(&out, 1, MPI_INT, peer, 1, c, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        T_MUST(in == i);
    }
}

// Process 0 begins to send much and then waits for its other thread, which waits for the answer.
static void *leave(void *arg)
{
    MPI_Comm c = *(MPI_Comm *)arg;
    static char data[LARGE];
    MPI_Request r;
    int size, rank;
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        use(c, (rank + size / 2) % size);
        if (me == 0) {
            memset(data, round + 1, sizeof data);
            MPI_Isend(data, LARGE, MPI_CHAR, size / 2, 2, c, &r);
            sem_post(&begun);
            sem_wait(&over); // not in MPI: nobody but the other thread can send the rest
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else {
            memset(data, 0, sizeof data);
            MPI_Recv(data, LARGE, MPI_CHAR, 0, 2, c, MPI_STATUS_IGNORE);
            T_EQ(data[0], round + 1);
            T_EQ(data[LARGE - 1], round + 1);
            sem_post(&begun);
        }
    }
    return NULL;
}

static void answer(MPI_Comm c, int peer)
{
    for (int round = 0; round < ROUNDS; round++) {
        int word = round;
        sem_wait(&begun);
        if (me == 0) {
            MPI_Recv(&word, 1, MPI_INT, peer, 3, c, MPI_STATUS_IGNORE);
            T_EQ(word, 100 + round);
            sem_post(&over);
        } else {
            word = 100 + round;
            MPI_Send(&word, 1, MPI_INT, peer, 3, c);
        }
    }
}

// The two threads of each process use endpoints `first` and `second` of its own.
static void run(MPI_Comm *comms, int first, int second, int n)
{
    pthread_t id;
    T_MUST(pthread_create(&id, NULL, leave, &comms[first]) == 0);
    answer(comms[second], me == 0 ? n + second : second);
    pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[2];
    int level, n;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(n == 2);
    sem_init(&begun, 0, 0);
    sem_init(&over, 0, 0);
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, 2, MPI_INFO_NULL, comms);
    run(comms, 0, 1, 2);
    run(comms, 0, 0, 2); // both threads at one endpoint
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&comms[i]);
    }
    MPI_Finalize();
    return t_status();
}
