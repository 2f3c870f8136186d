// SPDX-License-Identifier: BSD-3-Clause
// Message rate of several pairs at once. One argument: threads per process. With 1 each process of
// the lower half sends to one of the upper half; with more there are two processes, whose threads
// speak on one communicator, told apart by tags.
#include "rates.h"

int main(int argc, char **argv)
{
    struct rates_flow flows[RATES_MAX] = { { .is_first = 0 } };
    int n_thread = argc > 1 ? atoi(argv[1]) : 1, me, size, level;
    b_shield();
    MPI_Init_thread(&argc, &argv, n_thread > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (n_thread < 1 || n_thread > RATES_MAX || size % 2 != 0 || (n_thread > 1 && size != 2)) {
        b_die("run this with another number of ranks");
    }
    if (n_thread > 1 && level < MPI_THREAD_MULTIPLE) {
        b_die("there is no MPI_THREAD_MULTIPLE");
    }
    for (int i = 0; i < n_thread; i++) {
        flows[i].comm = MPI_COMM_WORLD;
        flows[i].is_sender = me < size / 2;
        flows[i].partner = (me + size / 2) % size;
        flows[i].tag = 1 + i;
    }
    double rate = rates_measure(flows, n_thread) * n_thread * size / 2;
    if (me == 0) {
        char params[64];
        snprintf(params, sizeof params, "size=8 ranks=%d threads=%d", size, n_thread);
        b_report("rates", params, rate, "M/s");
    }
    MPI_Finalize();
    return 0;
}
