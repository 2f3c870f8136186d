// SPDX-License-Identifier: BSD-3-Clause
// Two ranks and large messages, for onecopy.py and mpiexec_limits.py.
//   once  one message each way
//   fresh  to memory that nobody has written before: messages, gathers, scatters, puts
//   die   rank 0 sends until a signal kills it in the middle; rank 1 checks all that it gets
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { N = 8 << 20, N_FRESH = 1 << 20 };

static unsigned char *buf;
static int rank;

static void check(int seed)
{
    for (int i = 0; i < N; i++) {
        if (buf[i] != (unsigned char)seed) {
            printf("wrong: byte %d of message %d is %d\n", i, seed, buf[i]);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
}

static void once(void)
{
    for (int from = 0; from < 2; from++) {
        if (rank == from) {
            memset(buf, 40 + from, N);
            MPI_Send(buf, N, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buf, N, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(40 + from);
            printf("rank %d received\n", rank);
        }
    }
}

static void die(int ms)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        struct itimerval t = { .it_value = { .tv_usec = ms * 1000 } };
        setitimer(ITIMER_REAL, &t, NULL); // nobody handles its signal
    }
    for (int i = 0;; i++) {
        if (rank == 0) {
            memset(buf, i, N);
            MPI_Send(buf, N, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buf, N, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(i);
        }
    }
}

static void check_fresh(unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != 7) {
            printf("wrong: byte %zu is %d\n", i, p[i]);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    free(p);
}

static void late(int who)
{
    if (rank == who) {
        usleep(20000); // so that the other is there first
    }
}

static void fresh(int late_one)
{
    size_t n = N_FRESH;
    unsigned char *got = malloc(2 * n);
    late(late_one);
    if (rank == 0) {
        MPI_Send(buf, N_FRESH, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        free(got);
    } else {
        MPI_Recv(got, N_FRESH, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_fresh(got, n);
    }
    got = malloc(2 * n);
    late(late_one);
    MPI_Gather(buf, N_FRESH, MPI_BYTE, got, N_FRESH, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        check_fresh(got, 2 * n);
    } else {
        free(got);
    }
    got = malloc(n);
    late(late_one);
    MPI_Scatter(buf, N_FRESH, MPI_BYTE, got, N_FRESH, MPI_BYTE, 0, MPI_COMM_WORLD);
    check_fresh(got, n);
    got = malloc(n);
    MPI_Win win;
    MPI_Win_create(got, N_FRESH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    late(late_one);
    MPI_Win_fence(0, win);
    MPI_Put(buf, N_FRESH, MPI_BYTE, 1 - rank, 0, N_FRESH, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    check_fresh(got, n);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    buf = malloc(N);
    memset(buf, 1, N);
    if (argc > 2 && strcmp(argv[1], "die") == 0) {
        die(atoi(argv[2]));
    } else if (argc > 1 && strcmp(argv[1], "fresh") == 0) {
        memset(buf, 7, N);
        for (int i = 0; i < 12; i++) {
            fresh(i % 3);
        }
    } else {
        once();
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
