// SPDX-License-Identifier: BSD-3-Clause
// Nanoseconds of calls that do little, for what the library of another MPI's ABI adds to them: one
// with a handle, and messages of a rank to itself without and with a status.
#include "bench.h"

static void handle(int me, int iters, void *arg)
{
    (void)me;
    for (int i = 0; i < iters; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, arg);
    }
}

static void message(int me, int iters, void *arg)
{
    int in = 0;
    for (int i = 0; i < iters; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, me, 1, &in, 1, MPI_INT, me, 1, MPI_COMM_WORLD, arg);
    }
}

static void report(int me, const char *what, double seconds)
{
    if (me == 0) {
        b_report("calls", what, seconds * 1e9, "ns");
    }
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 2), rank = -1;
    MPI_Status status;
    report(me, "handle", b_measure(me, handle, &rank, 0.01));
    report(me, "message", b_measure(me, message, MPI_STATUS_IGNORE, 0.01));
    report(me, "status", b_measure(me, message, &status, 0.01));
    if (rank != me || status.MPI_SOURCE != me || status.MPI_TAG != 1) {
        b_die("wrong results");
    }
    MPI_Finalize();
    return 0;
}
