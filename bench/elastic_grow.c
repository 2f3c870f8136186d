// SPDX-License-Identifier: BSD-3-Clause
// A loop of short steps while mpictl makes the world larger: the longest step of a rank that was
// there before, from the start until the new version is in use.
#include <mpi.h>
#include <stdio.h>

enum { STEP_US = 200 };

static void work(void)
{
    for (double end = MPI_Wtime() + STEP_US * 1e-6; MPI_Wtime() < end;) {
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD, first;
    int version, agreed = 0, sum, one = 1, rank, size;
    MPIX_Comm_world_at(0, &first);
    if (first == MPI_COMM_NULL) { // one that came
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        MPI_Finalize();
        return 0;
    }
    double longest = 0, last = MPI_Wtime(), most;
    while (agreed == 0) {
        work();
        MPIX_World_version(&version);
        MPI_Allreduce(&version, &agreed, 1, MPI_INT, MPI_MIN, world);
        if (agreed > 0) {
            MPIX_Comm_world_at(agreed, &world);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        }
        double now = MPI_Wtime();
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    MPI_Reduce(&longest, &most, 1, MPI_DOUBLE, MPI_MAX, 0, first);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (rank == 0) {
        printf("grow to=%d %.3f ms\n", size, most * 1e3);
    }
    MPI_Finalize();
    return sum != size;
}
