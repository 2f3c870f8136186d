// SPDX-License-Identifier: BSD-3-Clause
// Attaching is a hint and never a reason to hang. A thread attaches, begins to send much, and then
// ends or waits outside MPI; the other thread of its process waits in MPI for an answer that the
// receiver gives when it has everything.
#include "ep_t.h"

#include <semaphore.h>
#include <stdbool.h>

enum { LARGE = 4 << 20, MANY = 3000 };
enum how { BY_RECV, BY_TEST, BY_PROBE, BY_WAITANY, BY_BARRIER, N_HOW };

static MPI_Comm ep[2];
static int me;
static char *data;
static MPI_Request sent;
static sem_t begun, over;
static bool ends, owns;

// Messages to itself, enough to own the lock of its lane.
static void own(MPI_Comm c)
{
    int rank, in = -1;
    MPI_Comm_rank(c, &rank);
    for (int i = 0; i < MANY; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, c, MPI_STATUS_IGNORE);
        T_MUST(in == i);
    }
}

static void *leave(void *arg)
{
    (void)arg;
    T_EQ(MPI_Comm_attach(ep[1]), MPI_SUCCESS);
    if (owns) {
        own(ep[1]);
    }
    T_EQ(MPI_Isend(data, LARGE, MPI_CHAR, 3, 1, ep[1], &sent), MPI_SUCCESS);
    sem_post(&begun);
    if (!ends) {
        sem_wait(&over); // not in MPI
        T_EQ(MPI_Wait(&sent, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(MPI_Comm_detach(ep[1]), MPI_SUCCESS);
    }
    return NULL;
}

static void hear(enum how how)
{
    int word = -1, flag = 0, at;
    MPI_Request r = MPI_REQUEST_NULL;
    switch (how) {
    case BY_TEST:
        MPI_Irecv(&word, 1, MPI_INT, 2, 2, ep[0], &r);
        while (!flag) {
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        }
        break;
    case BY_PROBE:
        while (!flag) {
            MPI_Iprobe(2, 2, ep[0], &flag, MPI_STATUS_IGNORE);
        }
        MPI_Recv(&word, 1, MPI_INT, 2, 2, ep[0], MPI_STATUS_IGNORE);
        break;
    case BY_WAITANY:
        MPI_Irecv(&word, 1, MPI_INT, 2, 2, ep[0], &r);
        MPI_Waitany(1, &r, &at, MPI_STATUS_IGNORE);
        break;
    case BY_BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        word = how;
        break;
    default:
        MPI_Recv(&word, 1, MPI_INT, 2, 2, ep[0], MPI_STATUS_IGNORE);
        break;
    }
    T_EQ(word, (int)how);
}

static void round_of(enum how how)
{
    memset(data, me == 0 ? how + 1 : 0, LARGE);
    if (me == 0) {
        pthread_t t;
        T_MUST(pthread_create(&t, NULL, leave, NULL) == 0);
        sem_wait(&begun);
        if (ends) {
            pthread_join(t, NULL);
        }
        hear(how);
        if (ends) {
            T_EQ(MPI_Wait(&sent, MPI_STATUS_IGNORE), MPI_SUCCESS);
            T_OK(MPI_Comm_detach(ep[1]) != MPI_SUCCESS); // the thread was when it ended
        } else {
            sem_post(&over);
            pthread_join(t, NULL);
        }
    } else {
        int word = how;
        MPI_Recv(data, LARGE, MPI_CHAR, 1, 1, ep[1], MPI_STATUS_IGNORE);
        T_OK(data[0] == (char)(how + 1) && data[LARGE - 1] == (char)(how + 1));
        if (how == BY_BARRIER) {
            MPI_Barrier(MPI_COMM_WORLD);
        } else {
            MPI_Send(&word, 1, MPI_INT, 0, 2, ep[0]);
        }
    }
}

// Endpoints that go while a thread is attached: it may attach to new ones for ever.
static void attach_and_free(void)
{
    for (int i = 0; i < 500; i++) {
        MPI_Comm c;
        T_EQ(MPI_Comm_create_endpoints(MPI_COMM_SELF, 1, MPI_INFO_NULL, &c), MPI_SUCCESS);
        T_EQ(MPI_Comm_attach(c), MPI_SUCCESS);
        T_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    sem_init(&begun, 0, 0);
    sem_init(&over, 0, 0);
    data = malloc(LARGE);
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, 2, MPI_INFO_NULL, ep) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_set_errhandler(ep[i], MPI_ERRORS_RETURN);
    }
    for (int k = 0; k < 4; k++) {
        ends = k % 2 == 0;
        owns = k >= 2;
        for (int how = 0; how < N_HOW; how++) {
            round_of((enum how)how);
        }
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&ep[i]);
    }
    attach_and_free();
    free(data);
    MPI_Finalize();
    return t_status();
}
