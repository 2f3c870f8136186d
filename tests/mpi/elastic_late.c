// SPDX-License-Identifier: BSD-3-Clause
// A rank of an elastic world that jobs join while it runs: goes on to the next world until that has
// so many ranks, exchanges something with all of them, prints where it is, and then, where it is
// asked to, takes part in barriers until it is ended.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEP_US = 2000, N = 1 << 16 };

// A message around the ring that is too large to be sent at once.
static void pass_on(int rank, int size, MPI_Comm world)
{
    int *out = malloc(N * sizeof *out), *in = malloc(N * sizeof *in);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < N; i++) {
        out[i] = i * 7 + rank;
    }
    MPI_Sendrecv(out, N, MPI_INT, next, 1, in, N, MPI_INT, before, 1, world, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        if (in[i] != i * 7 + before) {
            printf("integer %d is %d\n", i, in[i]);
            MPI_Abort(world, 1);
        }
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Comm world;
    int want = argc > 1 ? atoi(argv[1]) : 1, n_barrier = argc > 2 ? atoi(argv[2]) : 1;
    int size = 0, rank, sum;
    MPI_Init(&argc, &argv);
    for (;;) {
        MPIX_World_next(&world, MPI_INFO_NULL);
        MPI_Comm_size(world, &size);
        if (size >= want) {
            break;
        }
        usleep(STEP_US);
    }
    MPI_Comm_rank(world, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
    if (sum != size * (size - 1) / 2) {
        printf("the sum is %d\n", sum);
        MPI_Abort(world, 1);
    }
    pass_on(rank, size, world);
    printf("rank %d of %d sum %d process %d\n", rank, size, sum, (int)getpid());
    fflush(stdout);
    for (int i = 0; i < n_barrier; i++) {
        MPI_Barrier(world);
        if (n_barrier > 1) {
            usleep(STEP_US);
        }
    }
    MPI_Finalize();
    return 0;
}
