// SPDX-License-Identifier: BSD-3-Clause
// All eigenvalues of a matrix that is known: 2 on the diagonal, -1 beside it.
#include <elpa/elpa.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 200, BLOCK = 16 };

// The number of rows or columns that one of `parts` processes has.
static int local_count(int me, int parts)
{
    int n = 0;
    for (int i = 0; i < N; i++)
        n += i / BLOCK % parts == me;
    return n;
}

static int global_index(int local, int me, int parts)
{
    return (local / BLOCK * parts + me) * BLOCK + local % BLOCK;
}

int main(int argc, char **argv)
{
    int rank, size, error, provided, dims[2] = { 0, 0 };
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    int row = rank % dims[0], column = rank / dims[0], rows = local_count(row, dims[0]),
        columns = local_count(column, dims[1]);
    double *a = calloc((size_t)rows * columns, sizeof *a),
           *q = calloc((size_t)rows * columns, sizeof *q), ev[N];
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            int d = abs(global_index(i, row, dims[0]) - global_index(j, column, dims[1]));
            a[i + (size_t)j * rows] = d == 0 ? 2 : d == 1 ? -1 : 0;
        }
    if (elpa_init(20171201) != ELPA_OK)
        return 3;
    elpa_t h = elpa_allocate(&error);
    elpa_set(h, "na", N, &error);
    elpa_set(h, "nev", N, &error);
    elpa_set(h, "local_nrows", rows, &error);
    elpa_set(h, "local_ncols", columns, &error);
    elpa_set(h, "nblk", BLOCK, &error);
    elpa_set(h, "mpi_comm_parent", MPI_Comm_c2f(MPI_COMM_WORLD), &error);
    elpa_set(h, "process_row", row, &error);
    elpa_set(h, "process_col", column, &error);
    int failed = elpa_setup(h);
    elpa_set(h, "solver", argc > 1 ? ELPA_SOLVER_2STAGE : ELPA_SOLVER_1STAGE, &error);
    elpa_eigenvectors(h, a, ev, q, &failed);
    double worst = 0;
    for (int k = 0; k < N; k++)
        worst = fmax(worst, fabs(ev[k] - (2 - 2 * cos((k + 1) * M_PI / (N + 1)))));
    if (rank == 0)
        printf("answer %d %d %.6f %.6f\n", failed, worst < 1e-12, ev[0], ev[N - 1]);
    elpa_deallocate(h, &error);
    elpa_uninit(&error);
    MPI_Finalize();
    return failed != 0 || worst >= 1e-12;
}
