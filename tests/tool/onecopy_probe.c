// SPDX-License-Identifier: BSD-3-Clause
// Two ranks and large messages, for onecopy.py.
//   once  one message each way
//   die   rank 0 sends until a signal kills it in the middle; rank 1 checks all that it gets
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { N = 8 << 20 };

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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    buf = malloc(N);
    memset(buf, 1, N);
    if (argc > 2 && strcmp(argv[1], "die") == 0) {
        die(atoi(argv[2]));
    } else {
        once();
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
