// SPDX-License-Identifier: BSD-3-Clause
// MPI programs for tests of hosts that vanish and ranks that wait for ever across hosts.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void say_up(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    printf("up\n");
    fflush(stdout);
}

// Everybody talks to everybody, for ever.
static void barriers(void)
{
    say_up();
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// All wait for rank 0, which never comes.
// One of all, and the end.
static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void waiting(void)
{
    int x = 0;
    say_up();
    if (rank == 0) {
        sleep(1000);
    }
    MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

// Everybody receives from the next, and nobody sends.
static void deadlock(void)
{
    int x = 0;
    say_up();
    MPI_Recv(&x, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Slow, but not stuck: a message goes around, and each keeps it for a while.
static void slow_ring(void)
{
    int x = 0, next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 2; i++) {
        if (rank != 0) {
            MPI_Recv(&x, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        usleep(700000);
        MPI_Send(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&x, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    printf("done\n");
}

// Rank 0 computes for ten seconds while all others send to it, and then hears each of them.
static void busy_root(void)
{
    int x = rank, n_heard = 0;
    double begin = MPI_Wtime();
    while (rank == 0 && MPI_Wtime() - begin < 10) {
    }
    if (rank != 0) {
        MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(&x, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        n_heard += x == i;
    }
    if (rank == 0) {
        printf("heard %d of %d\n", n_heard, size - 1);
    }
    barrier();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } acts[] = { { "barriers", barriers }, { "barrier", barrier },     { "waiting", waiting },
                 { "deadlock", deadlock }, { "slow_ring", slow_ring }, { "busy_root", busy_root } };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof acts / sizeof acts[0]; i++) {
        if (strcmp(argv[1], acts[i].name) == 0) {
            acts[i].run();
        }
    }
    MPI_Finalize();
    return 0;
}
