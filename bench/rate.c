// SPDX-License-Identifier: BSD-3-Clause
// How many 8-byte messages per second one rank can send to another, 64 in flight.
#include "bench.h"

enum { WINDOW = 64, REPEAT = 16 };

static long long values[WINDOW];

static void windows(int me, int iters, void *arg)
{
    (void)arg;
    MPI_Request req[WINDOW];
    for (int i = 0; i < iters; i++) {
        for (int r = 0; r < REPEAT; r++) {
            for (int w = 0; w < WINDOW; w++) {
                if (me == 0) {
                    MPI_Isend(&values[w], 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
                } else {
                    MPI_Irecv(&values[w], 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
                }
            }
            MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
        }
        if (me == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 2);
    for (int w = 0; w < WINDOW; w++) {
        values[w] = me == 0 ? 1000 + w : -1;
    }
    double t = b_measure(me, windows, NULL, 0.02);
    for (int w = 0; w < WINDOW; w++) {
        if (values[w] != 1000 + w) {
            b_die("messages arrived in another order than they were sent");
        }
    }
    if (me == 0) {
        b_report("rate", "size=8 window=64 ranks=2", WINDOW * REPEAT / t / 1e6, "M/s");
    }
    MPI_Finalize();
    return 0;
}
