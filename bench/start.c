// SPDX-License-Identifier: BSD-3-Clause
// Many ranks start, do a barrier, and end; run.py measures the wall time. The barrier is a
// dissemination of plain messages.
#include "bench.h"

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int d = 1; d < n; d *= 2) {
        int out = me, in = -1, to = (me + d) % n, from = (me + n - d) % n;
        MPI_Sendrecv(&out, 1, MPI_INT, to, d, &in, 1, MPI_INT, from, d, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (in != from) {
            b_die("a message came from another rank");
        }
    }
    MPI_Finalize();
    return 0;
}
