// SPDX-License-Identifier: BSD-3-Clause
// An MPI program in C that uses a library in UPC. mpicc compiles it, upcc -extern-main links.
#include <bupc_extern.h>
#include <mpi.h>
#include <stdio.h>

void histogram_begin(void);
void histogram_add(long bin);
long histogram_total(void);
long histogram_bins(void);

int main(int argc, char **argv)
{
    enum { ADDED = 1000 };
    int rank, size;
    MPI_Init(&argc, &argv);
    bupc_init(&argc, &argv); // each rank becomes a UPC thread
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    histogram_begin();
    for (long i = 0; i < ADDED; i++) {
        histogram_add((i * 7 + rank) % histogram_bins());
    }
    long total = histogram_total(), all = 0;
    MPI_Allreduce(&total, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int is_right = all == (long)ADDED * size * size && bupc_extern_threads() == size;
    if (rank == 0) {
        printf("C and UPC, %d ranks: %ld added, %s\n", size, total,
               is_right ? "as it should be" : "WRONG");
    }
    MPI_Finalize();
    return !is_right;
}
