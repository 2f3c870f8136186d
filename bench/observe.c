// SPDX-License-Identifier: BSD-3-Clause
// What bench/observe.py measures: small messages beside as much computing, and calls of one rank.
//
// usage: observe pair ROUNDS LOOPS [multiple]    messages of 8 bytes between ranks 0 and 1
//        observe self ROUNDS                     three calls a round: MPI_Irecv, MPI_Send, MPI_Wait
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static double pair(int n, int loops)
{
    double data = 0;
    volatile double x = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < loops; k++) {
            x = x * 1.0000001;
        }
        if (rank == 0) {
            MPI_Send(&data, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&data, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(&data, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&data, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - begin;
}

static double self(int n)
{
    double in, out = 0;
    MPI_Request r;
    double begin = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &r);
        MPI_Send(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0, level;
    int wanted = argc > 4 && strcmp(argv[4], "multiple") == 0 ? MPI_THREAD_MULTIPLE : 0;
    MPI_Init_thread(&argc, &argv, wanted != 0 ? wanted : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double seconds = 0;
    for (int i = 0; i < 2 && n > 0; i++) { // the first round warms up
        seconds = strcmp(argv[1], "pair") == 0 ? pair(n, atoi(argv[3])) : self(n);
    }
    if (rank == 0 && n > 0) {
        printf("%.2f\n", seconds * 1e9 / n);
    }
    MPI_Finalize();
    return 0;
}
