// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends; run.py measures the wall time. With an argument, rank 0 and the last rank print
// their memory while all ranks run: only then do pages that several map count as shared.
#include "bench.h"
#include "proc.h"

#include <time.h>

static void rest(void)
{
    struct timespec half = { 0, 500000000 };
    nanosleep(&half, NULL);
}

static void say(int n)
{
    char params[64];
    int fds = p_entries("/proc/self/fd", 1), threads = p_entries("/proc/self/task", 0);
    long kb = p_private_kb();
    snprintf(params, sizeof params, "ranks=%d", n);
    b_report("init_private", params, (double)kb, "kB");
    b_report("init_fds", params, fds, "descriptors");
    b_report("init_threads", params, threads, "threads");
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (argc > 1) {
        rest();
        if (me == 0 || me == n - 1) {
            say(n);
        }
        rest();
    }
    MPI_Finalize();
    return 0;
}
