// SPDX-License-Identifier: BSD-3-Clause
// Two levels of one interface: endpoints on MPI_COMM_SELF are a communicator of the threads of a
// process, MPI_COMM_WORLD one of the processes. Each process owns a row of blocks of a matrix and
// each of its threads one block. Sums over a row stay inside a process; only the first thread of
// each speaks to other processes.
//
//     mpiexec -n 3 ./ep_levels 4          # a matrix of 3 x 4 blocks
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 64 };

struct thread {
    pthread_t id;
    MPI_Comm inside; // the threads of this process
};

static long block_sum(int row, int column)
{
    long sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        for (int k = 0; k < BLOCK; k++) {
            sum += (long)(row * BLOCK + i) * (column * BLOCK + k);
        }
    }
    return sum;
}

// What all blocks together must give: the sum of the rows' numbers times that of the columns'.
static long expected(long n_row, long n_column)
{
    long r = n_row * BLOCK, c = n_column * BLOCK;
    return r * (r - 1) / 2 * (c * (c - 1) / 2);
}

static void *run(void *arg)
{
    struct thread *t = arg;
    int row, n_row, column, n_column;
    long mine, of_row, of_all;
    MPI_Comm_rank(MPI_COMM_WORLD, &row);
    MPI_Comm_size(MPI_COMM_WORLD, &n_row);
    MPI_Comm_rank(t->inside, &column);
    MPI_Comm_size(t->inside, &n_column);
    mine = block_sum(row, column);

    // Inside the process, then between processes, then inside again.
    MPI_Reduce(&mine, &of_row, 1, MPI_LONG, MPI_SUM, 0, t->inside);
    if (column == 0) {
        printf("row %d: %ld from %d threads\n", row, of_row, n_column);
        MPI_Allreduce(&of_row, &of_all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Bcast(&of_all, 1, MPI_LONG, 0, t->inside);

    if (of_all != expected(n_row, n_column)) {
        printf("row %d column %d: %ld is WRONG\n", row, column, of_all);
    } else if (row == n_row - 1 && column == n_column - 1) {
        printf("the last thread of the last of %d processes knows the whole sum %ld, right\n",
               n_row, of_all);
    }
    MPI_Comm_free(&t->inside);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    int n = argc > 1 ? atoi(argv[1]) : 4;
    if (level < MPI_THREAD_MULTIPLE || n < 1) {
        fprintf(stderr, "usage: mpiexec -n PROCESSES ep_levels THREADS\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm *comms = malloc((size_t)n * sizeof *comms);
    struct thread *threads = malloc((size_t)n * sizeof *threads);
    MPI_Comm_create_endpoints(MPI_COMM_SELF, n, MPI_INFO_NULL, comms);
    for (int i = 0; i < n; i++) {
        threads[i].inside = comms[i];
        if (pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0) {
            fprintf(stderr, "ep_levels: cannot start thread %d\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].id, NULL);
    }
    free(threads);
    free(comms);
    MPI_Finalize();
    return 0;
}
