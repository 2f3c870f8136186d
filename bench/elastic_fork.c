// SPDX-License-Identifier: BSD-3-Clause
// Time of MPI_Fork of all ranks, each of which has written to the given number of MiB, until a
// barrier of the new world is done.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    size_t len = (size_t)(argc > 1 ? atoi(argv[1]) : 1) << 20;
    int rank, size;
    char *memory = malloc(len);
    memset(memory, 1, len);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    int got = MPI_Fork(size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (got > 0 && rank == 0) {
        printf("fork mib=%zu %.3f ms\n", len >> 20, (MPI_Wtime() - begin) * 1e3);
    }
    int wrong = memory[0] != 1 || memory[len - 1] != 1;
    MPI_Finalize();
    return wrong;
}
