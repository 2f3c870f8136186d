// SPDX-License-Identifier: BSD-3-Clause
// An ordinary MPI program that knows nothing of threads or endpoints: relaxes a line of points
// until it changes no more. It runs as it is, one process per rank, and through ep_flat.c, which
// makes each of its ranks a thread.
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { POINTS = 12 }; // of each rank

static double larger(double a, double b)
{
    return a > b ? a : b;
}

int main(int argc, char **argv)
{
    int rank, size, step = 0;
    double u[POINTS + 2] = { 0 }, next[POINTS + 2], change;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    do {
        MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 1, &u[POINTS + 1], 1, MPI_DOUBLE, right, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&u[POINTS], 1, MPI_DOUBLE, right, 2, &u[0], 1, MPI_DOUBLE, left, 2,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        u[POINTS + 1] = right == MPI_PROC_NULL ? 1 : u[POINTS + 1]; // 0 at one end, 1 at the other
        double mine = 0;
        for (int i = 1; i <= POINTS; i++) {
            next[i] = (u[i - 1] + u[i + 1]) / 2;
        }
        for (int i = 1; i <= POINTS; i++) {
            mine = larger(mine, fabs(next[i] - u[i]));
            u[i] = next[i];
        }
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        step++;
    } while (change > 1e-7);

    double far = 0, farthest;
    for (int i = 1; i <= POINTS; i++) {
        far = larger(far, fabs(u[i] - (double)(rank * POINTS + i) / (size * POINTS + 1)));
    }
    MPI_Allreduce(&far, &farthest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, %d steps: the line is straight to %s\n", size, step,
               farthest < 1e-3 ? "a thousandth, right" : "LESS than a thousandth");
    }
    MPI_Finalize();
    return farthest < 1e-3 ? 0 : 1;
}
