// SPDX-License-Identifier: BSD-3-Clause
// A mistake on purpose: rank 0 sends to a rank that does not exist. The message says which argument
// of which call is wrong, and what would be right; the job ends at once instead of hanging.
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, value = 42;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD); // ranks are 0 .. size-1
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
