// SPDX-License-Identifier: BSD-3-Clause
// Pi as the area under 4 / (1 + x*x): each rank sums its share of the strips; a reduction adds up.
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { STRIPS = 10000000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    double t = MPI_Wtime(), mine = 0, pi;
    for (int i = rank; i < STRIPS; i += size) {
        double x = (i + 0.5) / STRIPS;
        mine += 4 / (1 + x * x);
    }
    mine /= STRIPS;
    MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

    if (rank == 0) {
        printf("pi is about %.12f (off by %.1e), %d strips on %d ranks in %.0f ms\n", pi,
               fabs(pi - acos(-1)), STRIPS, size, (MPI_Wtime() - t) * 1e3);
    }
    MPI_Finalize();
    return 0;
}
