// SPDX-License-Identifier: BSD-3-Clause
// preempt_probe FILE: takes part in every world that comes, tells its size, and ends when FILE is
// there.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_NULL, next;
    int is_over = 0, rank, size;
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init(&argc, &argv);
    for (int round = 0; !is_over; round++) {
        MPIX_World_next(&next, MPI_INFO_NULL);
        if (next == MPI_COMM_NULL) {
            break;
        }
        MPI_Comm_rank(next, &rank);
        MPI_Comm_size(next, &size);
        if (next != world && rank == 0) {
            printf("%d ranks\n", size);
        }
        world = next;
        is_over = rank == 0 && access(argv[1], F_OK) == 0;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, world);
        if (is_over && rank == 0) {
            printf("over, %s\n", round > 0 ? "not at once" : "at once");
        }
        usleep(10000);
    }
    MPI_Finalize();
    return 0;
}
