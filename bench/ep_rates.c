// SPDX-License-Identifier: BSD-3-Clause
// Message rate of two processes whose threads have an endpoint each. One argument: threads.
#include "rates.h"

int main(int argc, char **argv)
{
    struct rates_flow flows[RATES_MAX] = { { .is_first = 0 } };
    MPI_Comm comms[RATES_MAX];
    int n = argc > 1 ? atoi(argv[1]) : 2, me, size, level;
    b_shield();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (n < 1 || n > RATES_MAX || size != 2) {
        b_die("run this with another number of ranks");
    }
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, comms);
    for (int i = 0; i < n; i++) {
        flows[i].comm = comms[i];
        flows[i].is_sender = me == 0;
        flows[i].partner = me == 0 ? n + i : i;
        flows[i].tag = 1;
        flows[i].begin = MPI_Comm_attach;
    }
    double rate = rates_measure(flows, n) * n;
    if (me == 0) {
        char params[64];
        snprintf(params, sizeof params, "size=8 ranks=2 threads=%d", n);
        b_report("ep_rates", params, rate, "M/s");
    }
    for (int i = 0; i < n; i++) {
        MPI_Comm_free(&comms[i]);
    }
    MPI_Finalize();
    return 0;
}
