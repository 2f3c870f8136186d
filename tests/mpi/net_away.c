// SPDX-License-Identifier: BSD-3-Clause
// Ranks that compute for long while a connection is being made. args: how many seconds rank 0,
// which calls, and rank 1, which is called, stay away.
#include "t.h"

#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static void away(int seconds)
{
    while (seconds > 0) {
        seconds = (int)sleep((unsigned)seconds);
    }
}

int main(int argc, char **argv)
{
    int rank, size, value = 41, got = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(size == 2 && argc == 3);
    if (rank == 0) {
        MPI_Request r;
        T_EQ(MPI_Isend(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        away(atoi(argv[1]));
        T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(MPI_Recv(&got, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(got, 42);
    } else {
        away(atoi(argv[2]));
        T_EQ(MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        got++;
        T_EQ(MPI_Send(&got, 1, MPI_INT, 0, 8, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    MPI_Finalize();
    return t_status();
}
