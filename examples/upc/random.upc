// SPDX-License-Identifier: BSD-3-Clause
// Random reads of a cyclic shared array, some arithmetic after each. With several groups every
// group has the whole array for itself, so a larger share of it is with the thread that reads:
// memory is given for nearness.
//   upcc -O2 random.upc -o random
//   upcrun -n 4 ./random                        one array over four threads
//   mpiexec --upc-groups=2 -n 4 ./random        two copies over two threads each
//   ./random [elements] [reads of each thread] [operations after each read]
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>
#include <upc_hybrid.h>

static long n_data, n_reads;
static int n_flops;

// A step of a generator with a full period of 2^64; its upper bits are good enough for indices.
static long draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (long)((*state >> 33) % (uint64_t)n_data);
}

static double work(double x)
{
    for (int i = 0; i < n_flops / 2; i++) {
        x = x * 0.999999 + 1e-9;
    }
    return x;
}

// Returns the seconds of the reads alone; *sum and *local are what was read.
static double run(shared double *data, int rank, double *sum, long *local)
{
    uint64_t state = (uint64_t)rank + 1;
    volatile double keep = 0; // so that the work is done
    double begin = MPI_Wtime();
    for (long i = 0; i < n_reads; i++) {
        shared double *at = &data[draw(&state)];
        double x = *at;
        *sum += x;
        *local += upc_threadof(at) == MYTHREAD;
        keep = keep + work(x);
    }
    return MPI_Wtime() - begin;
}

// What the reads must add up to: the same numbers drawn again, the array not looked at.
static double expected(int rank)
{
    uint64_t state = (uint64_t)rank + 1;
    double sum = 0;
    for (long i = 0; i < n_reads; i++) {
        sum += (double)(draw(&state) % 1000);
    }
    return sum;
}

int main(int argc, char **argv)
{
    upc_hybrid_t me = upc_hybrid_info();
    n_data = argc > 1 ? atol(argv[1]) : 100000;
    n_reads = argc > 2 ? atol(argv[2]) : 100000;
    n_flops = argc > 3 ? atoi(argv[3]) : 100;
    if (me.rank < 0 || n_data < 1 || n_data > INT32_MAX || n_reads < 1 || n_flops < 0) {
        fprintf(stderr, "random: every thread needs a rank, and all sizes must be positive\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    shared double *data = upc_all_alloc(n_data, sizeof(double));
    upc_forall(long i = 0; i < n_data; i++; &data[i]) {
        data[i] = (double)(i % 1000);
    }
    upc_barrier;
    MPI_Barrier(MPI_COMM_WORLD);
    double sum = 0;
    long local = 0;
    double mine[3] = {run(data, me.rank, &sum, &local)}, all[3], slowest;
    mine[1] = (double)local;
    mine[2] = sum != expected(me.rank);
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me.rank == 0) {
        printf("%d groups of %d threads: %.6f s, %.1f ns a read, %.2f %% local, sums %s\n",
               me.groups, me.threads, slowest, slowest / (double)n_reads * 1e9,
               100 * all[1] / ((double)n_reads * me.ranks), all[2] == 0 ? "right" : "WRONG");
    }
    MPI_Finalize();
    upc_barrier;
    if (MYTHREAD == 0) {
        upc_free(data);
    }
    return all[2] != 0;
}
