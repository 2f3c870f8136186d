// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 has a forked child, which has copies of all its connections, while the other ranks leave
// MPI and hang up. It goes on in MPI calls, whatever else its memory is used for by then.
#include "t.h"

#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS = 3000, PIECES = 64 };

// How many connections by TCP this process has.
static int n_connected(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    T_MUST(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        int fd = atoi(e->d_name), domain = 0, listens = 0;
        socklen_t len = sizeof domain, listens_len = sizeof listens;
        n += getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
             (domain == AF_INET || domain == AF_INET6) &&
             getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) == 0 && !listens;
    }
    closedir(d);
    return n;
}

static void look(void)
{
    int flag;
    char *pieces[PIECES];
    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = malloc(64 + i * 4);
        T_MUST(pieces[i] != NULL);
        memset(pieces[i], 0x41, 64 + i * 4);
    }
    for (int i = 0; i < PIECES; i++) {
        free(pieces[i]);
    }
}

static void stay(int size)
{
    int x = 0;
    for (int i = 1; i < size; i++) {
        MPI_Recv(&x, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    T_EQ(n_connected(), size - 1);
    pid_t child = fork();
    T_MUST(child >= 0);
    if (child == 0) {
        alarm(120); // whatever becomes of the test
        pause();
        _exit(0);
    }
    for (int i = 1; i < size; i++) {
        MPI_Send(&x, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
    }
    while (n_connected() > 0) {
        look();
    }
    for (int i = 0; i < LOOKS; i++) {
        look();
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    int rank, size, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        stay(size);
    } else {
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return t_status();
}
