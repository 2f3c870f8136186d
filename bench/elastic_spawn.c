// SPDX-License-Identifier: BSD-3-Clause
// Time of MPI_Comm_spawn of n processes, until all have started and a message has gone to and fro.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 4, runs = argc > 2 ? atoi(argv[2]) : 1, sum, one = 1, rank;
    MPI_Comm parent, child;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Reduce(&one, NULL, 1, MPI_INT, MPI_SUM, 0, parent);
        MPI_Bcast(&one, 1, MPI_INT, 0, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < runs; i++) {
        double begin = MPI_Wtime();
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
                       MPI_ERRCODES_IGNORE);
        MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, MPI_ROOT, child);
        double ms = (MPI_Wtime() - begin) * 1e3;
        MPI_Bcast(&one, 1, MPI_INT, MPI_ROOT, child);
        MPI_Comm_disconnect(&child);
        if (sum != n) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        printf("spawn n=%d %.3f ms\n", n, ms);
    }
    MPI_Finalize();
    return 0;
}
