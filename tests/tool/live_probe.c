// SPDX-License-Identifier: BSD-3-Clause
// What the tests of mpictl top, watch and stack look at: rank 0 is late until a file is there.
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file;

static void compute_long(void)
{
    while (access(file, F_OK) != 0) {
        usleep(10000);
    }
}

// Rank 0 sends 1000 messages of 8 bytes to rank 1, and then lets all wait.
static void late(int rank)
{
    char data[8] = { 0 };
    for (int i = 0; i < 1000 && rank < 2; i++) {
        if (rank == 0) {
            MPI_Send(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) {
        compute_long();
        MPI_Send(data, 8, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(data, 8, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // waits here
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *wait_there(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int value, me;
    MPI_Comm_rank(comm, &me);
    MPI_Recv(&value, 1, MPI_INT, 0, me, comm, MPI_STATUS_IGNORE);
    return NULL;
}

// The endpoints but the first wait for the first.
static void endpoints(void)
{
    MPI_Comm comms[3];
    pthread_t threads[3];
    MPIX_Comm_create_endpoints(MPI_COMM_WORLD, 3, MPI_INFO_NULL, comms);
    for (int i = 1; i < 3; i++) {
        pthread_create(&threads[i], NULL, wait_there, &comms[i]);
    }
    compute_long();
    for (int i = 1; i < 3; i++) {
        MPI_Send(&i, 1, MPI_INT, i, i, comms[0]);
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Comm_free(&comms[i]);
    }
}

// A process that was spawned waits for its parent.
static void spawned(char *self, bool is_child, MPI_Comm parent)
{
    int value = 0;
    MPI_Comm comm = parent;
    if (is_child) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    } else {
        char *argv[] = { "spawn", (char *)file, NULL };
        MPI_Comm_spawn(self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm, MPI_ERRCODES_IGNORE);
        compute_long();
        MPI_Send(&value, 1, MPI_INT, 0, 5, comm);
    }
    MPI_Comm_disconnect(&comm);
}

int main(int argc, char **argv)
{
    int level, rank;
    MPI_Comm parent;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    file = argv[2];
    if (strcmp(argv[1], "late") == 0) {
        late(rank);
    } else if (strcmp(argv[1], "endpoints") == 0) {
        endpoints();
    } else {
        spawned(argv[0], parent != MPI_COMM_NULL, parent);
    }
    MPI_Finalize();
    return 0;
}
