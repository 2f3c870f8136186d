// SPDX-License-Identifier: BSD-3-Clause
// Private memory of a rank after it has exchanged a message with every other one.
#include "bench.h"
#include "proc.h"

enum { SIZE = 1024 };

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    // Static, so that the program's own buffers are the same few pages for everyone.
    static unsigned char out[SIZE], in[SIZE];
    b_fill(out, SIZE, me);
    for (int d = 1; d < n; d++) {
        int to = (me + d) % n, from = (me + n - d) % n;
        MPI_Sendrecv(out, SIZE, MPI_BYTE, to, 1, in, SIZE, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        b_expect(in, SIZE, from);
    }
    long kb = p_private_kb();
    if (me != 0) {
        MPI_Send(&kb, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD);
    } else {
        double *all = malloc((size_t)n * sizeof *all);
        all[0] = (double)kb;
        for (int i = 1; i < n; i++) {
            MPI_Recv(&kb, 1, MPI_LONG, i, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            all[i] = (double)kb;
        }
        char params[64];
        snprintf(params, sizeof params, "ranks=%d", n);
        b_report("mem", params, b_median(all, n), "kB");
        free(all);
    }
    MPI_Finalize();
    return 0;
}
