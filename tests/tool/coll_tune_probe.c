// SPDX-License-Identifier: BSD-3-Clause
// Some collectives of several sizes, whose results are checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 1 << 15 };

static double in[LARGE], out[LARGE];

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Request q;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < 8; i++) {
        for (int count = 1; count <= LARGE; count *= LARGE) {
            in[0] = in[count - 1] = me + i;
            MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            bad += out[count - 1] != n * (n - 1) / 2.0 + n * i;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    out[5] = me == 0 ? 77 : 0;
    MPI_Ibcast(out, 100, MPI_DOUBLE, 0, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    bad += out[5] != 77;
    MPI_Finalize();
    if (me == 0) {
        printf("%s\n", bad == 0 ? "ok" : "wrong");
    }
    return bad != 0;
}
