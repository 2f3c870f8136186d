// SPDX-License-Identifier: BSD-3-Clause
// A token travels around the ranks; every rank adds its number. How long does a hop take?
#include <mpi.h>
#include <stdio.h>

enum { LAPS = 1000, TAG = 7 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;

    long token = 0;
    double t = MPI_Wtime();
    for (int lap = 0; lap < LAPS; lap++) {
        if (rank == 0) {
            MPI_Sendrecv_replace(&token, 1, MPI_LONG, next, TAG, prev, TAG, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_LONG, prev, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token += rank;
            MPI_Send(&token, 1, MPI_LONG, next, TAG, MPI_COMM_WORLD);
        }
    }
    t = MPI_Wtime() - t;

    if (rank == 0) {
        long want = (long)LAPS * size * (size - 1) / 2;
        printf("%d laps around %d ranks: %.2f microseconds per hop; the token is %ld%s\n", LAPS,
               size, t / LAPS / size * 1e6, token, token == want ? ", as it should be" : ": WRONG");
    }
    MPI_Finalize();
    return 0;
}
