// SPDX-License-Identifier: BSD-3-Clause
// Spawning and disconnecting over and over costs neither memory nor descriptors, here or in
// mpiexec.
#include "obj.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UCX_KEEPS = 128 }; // bytes

static long count_fds(int pid)
{
    char path[64];
    long n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *d = opendir(path);
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static long kib(int pid, const char *key)
{
    char line[256];
    long n = -1;
    snprintf(line, sizeof line, "/proc/%d/status", pid);
    FILE *f = fopen(line, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            n = atol(line + strlen(key) + 1);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    MPI_Comm parent, inter;
    int rank, sum = 0;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (parent != MPI_COMM_NULL) {
        int one = 1;
        T_MPI(MPI_Reduce(&one, NULL, 1, MPI_INT, MPI_SUM, 0, parent));
        T_MPI(MPI_Comm_disconnect(&parent));
        return t_end();
    }
    int n = argc > 1 ? atoi(argv[1]) : 200;
    int n_open = argc > 2 ? atoi(argv[2]) : 0; // connections to the last ones, closed or not
    long here = 0, there = 0, fds = 0, their_fds = 0;
    for (int i = 0; i < n; i++) {
        T_MPI(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                             MPI_ERRCODES_IGNORE));
        T_MPI(MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
                         inter));
        T_EQ(rank == 0 ? sum : 2, 2);
        T_MPI(MPI_Comm_disconnect(&inter));
        if (i == n / 4) {
            here = kib(getpid(), "RssAnon");
            there = kib(getppid(), "RssAnon");
            fds = count_fds(getpid());
            their_fds = count_fds(getppid());
        }
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    // UCX itself remembers every other side it has ever met.
    const char *net = getenv("PLIANT_NET");
    long kept = net != NULL && strstr(net, "ucx") != NULL ? n * 2L * UCX_KEEPS / 1024 : 0;
    T_OK(kib(getpid(), "RssAnon") <= here + 64 + kept); // private memory
    T_OK(kib(getppid(), "RssAnon") <= there + 256);
#else
    (void)here, (void)there;
#endif
    // On a busy machine the last children close their connections later.
    for (int i = 0, flag; i < 1000 && count_fds(getpid()) > fds + n_open; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(10000);
    }
    T_OK(count_fds(getpid()) <= fds + n_open);
    T_OK(count_fds(getppid()) <= their_fds + 24); // the last ones may still be there
    return t_end();
}
