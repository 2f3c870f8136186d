// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the network start as ranks. The first argument says what to do.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

// Around the ring, with everybody's neighbours met for the first time.
static int ring(void)
{
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return got == (rank + size - 1) % size;
}

static void wait_for(const char *file)
{
    while (access(file, F_OK) != 0) {
        usleep(10000);
    }
}

// The last rank dies; the others say what their receive from it gives.
static void lose(int has_met)
{
    int x = 0;
    char text[MPI_MAX_ERROR_STRING];
    int class, len, again, probed;
    if (has_met) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == size - 1) {
        raise(SIGKILL);
    }
    if (!has_met) {
        sleep(1);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    double t = MPI_Wtime();
    int code = has_met ? MPI_Recv(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                       : MPI_Ssend(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    // And from now on it is known.
    MPI_Error_class(MPI_Recv(&x, 1, MPI_INT, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                    &again);
    MPI_Error_class(MPI_Probe(size - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &probed);
    if (again != MPI_ERR_PROC_ABORTED || probed != MPI_ERR_PROC_ABORTED) {
        printf("a receive gives class %d, a probe %d\n", again, probed);
        return;
    }
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &len);
    printf("rank %d: class %s after %.1f s: %s\n", rank,
           class == MPI_ERR_PROC_ABORTED ? "aborted" : "other", MPI_Wtime() - t, text);
}

// Far more than the kernel buffers to somebody who does not look for a while.
static void slow(int seconds)
{
    enum { N = 600, LEN = 60000 };
    static unsigned char buf[LEN];
    if (rank == 0) {
        for (int i = 0; i < N; i++) {
            memset(buf, i, LEN);
            MPI_Send(buf, LEN, MPI_BYTE, 1, i, MPI_COMM_WORLD);
        }
    } else if (rank == 1) {
        int n_bad = 0;
        sleep((unsigned)seconds);
        for (int i = 0; i < N; i++) {
            MPI_Recv(buf, LEN, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            n_bad += buf[0] != (unsigned char)i || buf[LEN - 1] != (unsigned char)i;
        }
        printf("%d wrong\n", n_bad);
    }
}

// All others send to rank 0 at one moment, and make no MPI call for a while, so that whoever
// answers their call has to wait; rank 0 makes none for `busy` seconds before it receives.
static void gather(int busy)
{
    int x = rank;
    long sum = 0;
    MPI_Request sent;
    if (rank != 0) {
        MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &sent);
        usleep(busy > 0 ? 500000 : 0);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        return;
    }
    sleep((unsigned)busy);
    for (int i = 1; i < size; i++) {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += x;
    }
    printf("sum %ld\n", sum);
}

// Rank 0 sends a text to rank 1 many times, which prints another one at the end.
static void tell(const char *text, const char *last)
{
    enum { N = 50, LEN = 200 };
    char buf[LEN] = "";
    for (int i = 0; i < N && rank == 0; i++) {
        snprintf(buf, sizeof buf, "%s", text);
        MPI_Send(buf, LEN, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < N && rank == 1; i++) {
        MPI_Recv(buf, LEN, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
        printf("%s %s\n", strcmp(buf, text) == 0 ? "heard" : "wrong", last);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ring";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "go") == 0) {
        wait_for(argv[2]);
        printf("rank %d %s\n", rank, ring() ? "ok" : "wrong");
    } else if (strcmp(what, "gather") == 0) {
        if (argc > 3) {
            wait_for(argv[3]);
        }
        gather(atoi(argv[2]));
    } else if (strcmp(what, "tell") == 0) {
        tell(argv[2], argv[3]);
    } else if (strcmp(what, "lose") == 0) {
        lose(1);
        fflush(stdout);
        _exit(0); // the others are not to be waited for
    } else if (strcmp(what, "unmet") == 0) {
        lose(0);
        fflush(stdout);
        _exit(0);
    } else if (strcmp(what, "slow") == 0) {
        slow(atoi(argv[2]));
    } else if (strcmp(what, "leave") == 0) {
        ring();
        MPI_Finalize();
        sleep(rank == 0 ? 3 : 0);
        return 0;
    } else {
        printf("rank %d %s\n", rank, ring() ? "ok" : "wrong");
    }
    MPI_Finalize();
    return 0;
}
