// SPDX-License-Identifier: BSD-3-Clause
// A rank that is moved by a test while it has input to read and half a line printed:
//
//     move_probe FLAG echo|hang|child
//
// Rank 1 prints half a line and both exchange messages until the file FLAG is there. Then
//     echo   rank 1 reads its standard input to the end, and ends its line with what it was; the
//            status is 3
//     hang   both wait for a message that nobody sends
//     child  rank 1 has a process of its own meanwhile
#include <mpi.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Until the file is there, as rank 0 sees it.
static void exchange(const char *flag, int rank)
{
    for (int n = 0, is_there = 0; !is_there; n++) {
        int other = -1;
        is_there = rank == 0 && access(flag, F_OK) == 0;
        MPI_Sendrecv(&n, 1, MPI_INT, 1 - rank, 7, &other, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (other != n) {
            printf("message %d of rank %d is number %d\n", n, 1 - rank, other);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
        usleep(500);
    }
}

static void echo(void)
{
    static unsigned char buf[65536];
    uint64_t sum = 0, n_all = 0;
    for (ssize_t n; (n = read(STDIN_FILENO, buf, sizeof buf)) > 0;) {
        for (ssize_t i = 0; i < n; i++) {
            sum = sum * 31 + buf[i];
        }
        n_all += (uint64_t)n;
    }
    printf(" and read %llu bytes, sum %llu\n", (unsigned long long)n_all, (unsigned long long)sum);
}

int main(int argc, char **argv)
{
    int rank, x = 0;
    double begin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin = MPI_Wtime();
    if (argc < 3) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    pid_t child = rank == 1 && strcmp(argv[2], "child") == 0 ? fork() : 0;
    if (child == 0 && rank == 1 && strcmp(argv[2], "child") == 0) {
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(127);
    }
    if (rank == 1) {
        printf("rank 1 was here");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("begun\n");
        fflush(stdout);
    }
    exchange(argv[1], rank);
    if (strcmp(argv[2], "hang") == 0) {
        MPI_Recv(&x, 1, MPI_INT, 1 - rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(argv[2], "echo") == 0 && rank == 1) {
        echo();
    } else if (rank == 1) {
        printf("\n");
    }
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    double all = MPI_Wtime() - begin, most = 0;
    MPI_Reduce(&all, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && (most > 2 * all + 1 || most < all)) {
        printf("clocks differ: %g s here, %g s there\n", all, most);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    MPI_Finalize();
    return rank == 1 && strcmp(argv[2], "echo") == 0 ? 3 : 0;
}
