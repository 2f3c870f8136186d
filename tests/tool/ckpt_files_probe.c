// SPDX-License-Identifier: BSD-3-Clause
// Ranks with descriptors, or in calls, that a checkpoint may find hard: adds up until a file is
// there, and then looks whether it still has what it opened.
//
//     ckpt_files_probe WHAT FOLDER     ends when FOLDER.gate is there
#include <arpa/inet.h>
#include <fcntl.h>
#include <mpi.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *what;
static char name[512], folder[512];
static int rank, size, fd = -1;
static pid_t forked; // 0: there is no child

static void check(int is_good, const char *text)
{
    if (!is_good) {
        fprintf(stderr, "ckpt_files_probe: %s: %s is wrong\n", what, text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

// A file of the same name in all ranks, one after the other, without a name in the end.
static void open_unlinked(void)
{
    for (int i = 0; i < size; i++) {
        if (i == rank) {
            fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
            check(fd >= 0 && write(fd, &rank, sizeof rank) == sizeof rank && unlink(name) == 0,
                  "the file");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void open_sockets(int is_connected)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    check(s >= 0 && bind(s, (struct sockaddr *)&a, len) == 0 && listen(s, 1) == 0 &&
              getsockname(s, (struct sockaddr *)&a, &len) == 0,
          "the listener");
    if (is_connected) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        check(fd >= 0 && connect(fd, (struct sockaddr *)&a, len) == 0, "the connection");
        check(accept(s, NULL, NULL) >= 0 && close(s) == 0, "the other end");
    }
    if (rank == 0) {
        printf("port %d\n", ntohs(a.sin_port));
        fflush(stdout);
    }
}

static void open_all(void)
{
    if (strcmp(what, "unlinked") == 0) {
        open_unlinked();
    } else if (strcmp(what, "homeless") == 0) { // in a folder that is gone, which it is in
        char gone[512];
        snprintf(gone, sizeof gone, "%.500s.gone", folder);
        check(rank != 0 || mkdir(gone, 0700) == 0, "the folder");
        MPI_Barrier(MPI_COMM_WORLD);
        check(chdir(gone) == 0, "the current folder");
        snprintf(name, sizeof name, "%.500s/file", gone);
        open_unlinked();
        check(rank != 0 || rmdir(gone) == 0, "the folder");
    } else if (strcmp(what, "listen") == 0 || strcmp(what, "connect") == 0) {
        open_sockets(what[0] == 'c');
    } else if (strcmp(what, "linked") == 0) { // the name it was opened by is gone, another is there
        snprintf(name, sizeof name, "%.500s.%d", folder, rank);
        fd = open(name, O_RDWR | O_CREAT, 0600);
        char other[520];
        snprintf(other, sizeof other, "%s.other", name);
        check(fd >= 0 && link(name, other) == 0 && unlink(name) == 0, "the file");
    } else if (strcmp(what, "forked") == 0 && rank == 0) { // a child with all descriptors
        forked = fork();
        check(forked >= 0, "the child");
        if (forked == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                pause();
            }
        }
    }
}

// A process that ends at once.
static void spawn(char *program)
{
    MPI_Comm child;
    char *argv[] = { (char[]){ "child" }, NULL };
    MPI_Comm_spawn(program, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&child);
}

static void add_up(char *program)
{
    char gate[520];
    snprintf(gate, sizeof gate, "%s.gate", folder);
    for (int is_over = 0, n = 0; !is_over; n++) {
        int one = 1, sum, is_there = access(gate, F_OK) == 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&is_there, &is_over, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        check(sum == size, "the sum");
        if (strcmp(what, "spawn") == 0) {
            spawn(program);
        }
        if (n == 2 && rank == 0) {
            printf("ready\n");
            fflush(stdout);
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    what = argv[1];
    if (strcmp(what, "child") == 0) {
        MPI_Comm parent;
        MPI_Comm_get_parent(&parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    snprintf(folder, sizeof folder, "%.400s", argv[2]);
    snprintf(name, sizeof name, "%.500s.file", folder);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    open_all();
    MPI_Barrier(MPI_COMM_WORLD);
    add_up(argv[0]);
    if (strcmp(what, "unlinked") == 0 || strcmp(what, "homeless") == 0) {
        int was = -1;
        check(pread(fd, &was, sizeof was, 0) == sizeof was && was == rank, "the unlinked file");
    }
    if (forked > 0) {
        check(kill(forked, SIGKILL) == 0 && waitpid(forked, NULL, 0) == forked, "the child");
    }
    if (rank == 0) {
        printf("all is well\n");
    }
    MPI_Finalize();
    return 0;
}
