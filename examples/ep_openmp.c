// SPDX-License-Identifier: BSD-3-Clause
// Every OpenMP thread of every process is a rank: all of them meet in one allreduce. Together they
// integrate 4 / (1 + x*x) from 0 to 1, which is pi.
//
//     mpicc -fopenmp -o ep_openmp ep_openmp.c -lm
//     OMP_NUM_THREADS=3 mpiexec -n 2 ./ep_openmp
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

enum { POINTS = 1000000 };

static double part(int rank, int size)
{
    double sum = 0;
    for (int i = rank; i < POINTS; i += size) {
        double x = (i + 0.5) / POINTS;
        sum += 4 / (1 + x * x) / POINTS;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int world_rank, tl;
    int max_threads = omp_get_max_threads();
    MPI_Comm ep_comm[max_threads];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &tl);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);

#pragma omp parallel
    {
        int nt = omp_get_num_threads();
        int tn = omp_get_thread_num();
        int ep_rank, ep_size;
        double mine, pi;

#pragma omp master
        {
            MPI_Comm_create_endpoints(MPI_COMM_WORLD, nt, MPI_INFO_NULL, ep_comm);
        }
#pragma omp barrier

        MPI_Comm_attach(ep_comm[tn]);
        MPI_Comm_rank(ep_comm[tn], &ep_rank);
        MPI_Comm_size(ep_comm[tn], &ep_size);
        mine = part(ep_rank, ep_size);

        MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, ep_comm[tn]);

        printf("rank %d of %d, thread %d of process %d: pi is about %.8f, %s\n", ep_rank, ep_size,
               tn, world_rank, pi, fabs(pi - 3.14159265358979) < 1e-9 ? "right" : "WRONG");
        MPI_Comm_free(&ep_comm[tn]);
    }
    MPI_Finalize();
    return 0;
}
