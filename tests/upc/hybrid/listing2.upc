// The program of Listing 2 of the paper on endpoints, with its dots filled in: MPI is used by every
// UPC thread, and nobody calls MPI_Init.
#include <mpi.h>
#include <stdio.h>
#include <upc.h>

#define TOL 1e-3

shared[*] double data[100 * THREADS];

int main(int argc, char **argv)
{
    int rank, i, it = 0;
    double err, all;

    do {
        err = 0;
        upc_forall (i = 0; i < 100 * THREADS; i++; i) {
            data[i] = 1.0 / (1 << it);
            err += data[i];
        }
        MPI_Allreduce(&err, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        err = all;
        it++;
    } while (err > TOL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == MYTHREAD && rank == 0) {
        printf("%d rounds of %d threads\n", it, THREADS);
    }
    return argc > 1000 || argv == NULL || rank != MYTHREAD;
}
