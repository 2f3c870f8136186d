// SPDX-License-Identifier: BSD-3-Clause
// Bandwidth of large messages from one rank to another.
#include "pair.h"

int main(int argc, char **argv)
{
    static const long usual[] = { 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216 };
    int me = b_start(&argc, &argv, 2);
    long sizes[64];
    int n = b_sizes(argc, argv, usual, sizeof usual / sizeof usual[0], sizes, 64);
    for (int i = 0; i < n; i++) {
        char params[64];
        snprintf(params, sizeof params, "size=%ld ranks=2", sizes[i]);
        pair_bandwidth(me, "bw", sizes[i], params);
    }
    MPI_Finalize();
    return 0;
}
