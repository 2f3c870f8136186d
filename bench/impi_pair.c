// SPDX-License-Identifier: BSD-3-Clause
// Ping-pong and stream between rank 0 and the last rank (or rank 1: "near"), for bench/impi.py.
//   impi_pair lat near|far ITERATIONS          prints microseconds one way
//   impi_pair bw near|far SIZE COUNT WINDOW    prints MB/s
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WINDOW = 256 };

static int rank, peer;

static double ping_pong(long n)
{
    char buf[8] = { 0 };
    double begin = 0;
    for (long i = -n / 10; i < n; i++) {
        if (i == 0) {
            begin = MPI_Wtime();
        }
        if (rank == 0) {
            MPI_Send(buf, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
            MPI_Recv(buf, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buf, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buf, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begin) / (double)n / 2 * 1e6;
}

static void start(char *at, long size, MPI_Request *r)
{
    if (rank == 0) {
        MPI_Isend(at, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, r);
    } else {
        MPI_Irecv(at, (int)size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, r);
    }
}

// All of it has come.
static void meet(void)
{
    MPI_Sendrecv(NULL, 0, MPI_CHAR, peer, 2, NULL, 0, MPI_CHAR, peer, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

// So many messages are under way at any time: one that is done makes place for the next.
static void pass(char *buf, long size, long count, int window)
{
    static MPI_Request r[MAX_WINDOW];
    for (long i = 0; i < count; i++) {
        int k = (int)(i % window);
        if (i >= window) {
            MPI_Wait(&r[k], MPI_STATUS_IGNORE);
        }
        start(buf + (size_t)k * (size_t)size, size, &r[k]);
    }
    for (int k = 0; k < window && k < count; k++) {
        MPI_Wait(&r[k], MPI_STATUS_IGNORE);
    }
    meet();
}

static double stream(long size, long count, int window)
{
    char *buf = malloc((size_t)size * (size_t)window);
    memset(buf, 1, (size_t)size * (size_t)window);
    pass(buf, size, window, window); // to warm up
    double begin = MPI_Wtime();
    pass(buf, size, count, window);
    double seconds = MPI_Wtime() - begin;
    free(buf);
    return (double)size * (double)count / seconds / 1e6;
}

// The others wait for a word of rank 0. In MPI_Finalize their barrier would have sent it a message
// that it keeps meanwhile, and with one kept any MPI looks longer for the next, also inside a job.
static void stand_by(int size, int last)
{
    if (rank != 0 && rank != last) {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int r = 1; rank == 0 && r < size; r++) {
        if (r != last) {
            MPI_Send(NULL, 0, MPI_CHAR, r, 3, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int last = strcmp(argv[2], "near") == 0 ? 1 : size - 1;
    peer = rank == 0 ? last : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 || rank == last) {
        double x = strcmp(argv[1], "lat") == 0
                       ? ping_pong(atol(argv[3]))
                       : stream(atol(argv[3]), atol(argv[4]), atoi(argv[5]));
        if (rank == 0) {
            printf("%.4f\n", x);
        }
    }
    stand_by(size, last);
    MPI_Finalize();
    return 0;
}
