// SPDX-License-Identifier: BSD-3-Clause
// A rank that makes checkpoints and changes a part of its memory in between:
//   elastic_pages MIB PERMILLE STEPS
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

enum { PAGE = 4096 };

int main(int argc, char **argv)
{
    int restarted;
    MPI_Init(&argc, &argv);
    size_t n = ((size_t)atoi(argv[1]) << 20) / sizeof(uint64_t), n_page = n * sizeof n / PAGE;
    size_t n_change = n_page * (size_t)atoi(argv[2]) / 1000;
    uint64_t *memory = malloc(n * sizeof *memory), x = 88172645463325252u;
    if (memory == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (size_t i = 0; i < n; i++) { // no two pages are the same
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memory[i] = x;
    }
    for (int step = 0; step < atoi(argv[3]); step++) {
        MPIX_Checkpoint(MPI_COMM_WORLD, &restarted);
        for (size_t i = 0; i < n_change; i++) {
            memory[i * (n_page / n_change) * (PAGE / sizeof *memory)]++;
        }
    }
    free(memory);
    MPI_Finalize();
    return 0;
}
