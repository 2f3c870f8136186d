// SPDX-License-Identifier: BSD-3-Clause
// CPU that ranks use while they wait in a receive, in percent of one core, all together.
// The last rank sleeps outside MPI and then sends to the others.
#include "bench.h"

#include <sys/resource.h>
#include <time.h>

static double cpu_used(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int last = n - 1;
    const double seconds = 1.5;
    if (me != last) {
        // First meet the last rank, so that start-up is not counted.
        MPI_Send(&me, 1, MPI_INT, last, 1, MPI_COMM_WORLD);
        double t[2] = { cpu_used(), MPI_Wtime() };
        int go;
        MPI_Recv(&go, 1, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double share = (cpu_used() - t[0]) / (MPI_Wtime() - t[1]);
        MPI_Send(&share, 1, MPI_DOUBLE, last, 3, MPI_COMM_WORLD);
    } else {
        int who;
        for (int i = 0; i < last; i++) {
            MPI_Recv(&who, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        struct timespec pause = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
        nanosleep(&pause, NULL);
        for (int i = 0; i < last; i++) {
            MPI_Send(&i, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
        }
        double sum = 0, share;
        for (int i = 0; i < last; i++) {
            MPI_Recv(&share, 1, MPI_DOUBLE, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += share;
        }
        char params[64];
        snprintf(params, sizeof params, "ranks=%d", last);
        b_report("idle", params, sum * 100, "%");
    }
    MPI_Finalize();
    return 0;
}
