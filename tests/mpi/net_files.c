// SPDX-License-Identifier: BSD-3-Clause
// Descriptors run short: the soft limit is raised for connections, and calls that come while rank 0
// has none free wait until it has closed something.
#include "t.h"

#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOW = 24, FEW = 4, MOST = 4096, LOOKS = 2000 };

static struct rlimit limit(void)
{
    struct rlimit r;
    T_MUST(getrlimit(RLIMIT_NOFILE, &r) == 0);
    return r;
}

// All the others send at once, for the first time.
static void gather(int rank, int size)
{
    int x = rank, sum = 0;
    if (rank != 0) {
        MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < size; i++) {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += x;
    }
    T_EQ(sum, size * (size - 1) / 2);
}

// Open all that may be opened but a few; how many.
static int use_up(int *fds)
{
    int n = 0, fd;
    while (n < MOST && (fd = dup(STDERR_FILENO)) >= 0) {
        fds[n++] = fd;
    }
    T_MUST(n > FEW && n < MOST);
    for (int i = 0; i < FEW; i++) {
        close(fds[--n]);
    }
    return n;
}

static void starve(int size)
{
    int fds[MOST], flag, n_seen = 0;
    struct rlimit r = limit();
    r.rlim_cur = 256;
    T_MUST(setrlimit(RLIMIT_NOFILE, &r) == 0);
    int n = use_up(fds);
    for (int i = 0; i < LOOKS; i++) { // not all can have come
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        n_seen += flag;
    }
    while (n_seen == 0) { // and some have
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        n_seen += flag;
    }
    while (n > 0) {
        close(fds[--n]);
    }
    gather(0, size);
}

int main(int argc, char **argv)
{
    int rank, size;
    struct rlimit r = limit();
    int is_starved = argc > 1;
    if (!is_starved) {
        r.rlim_cur = LOW;
        T_MUST(setrlimit(RLIMIT_NOFILE, &r) == 0);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_starved && rank == 0) {
        starve(size);
    } else {
        T_OK(is_starved || limit().rlim_cur > LOW);
        gather(rank, size);
    }
    MPI_Finalize();
    return t_status();
}
