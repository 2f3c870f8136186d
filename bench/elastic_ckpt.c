// SPDX-License-Identifier: BSD-3-Clause
// A process that has written to the given number of MiB and waits to be dumped: a rank, or, with
// the second argument "plain", a process without MPI.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank = 0, is_plain = argc > 2 && strcmp(argv[2], "plain") == 0;
    size_t n = ((size_t)(argc > 1 ? atoi(argv[1]) : 1) << 20) / sizeof(uint64_t);
    uint64_t *memory = malloc(n * sizeof *memory), x = 88172645463325252u;
    if (memory == NULL) {
        return 1;
    }
    if (!is_plain) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    for (size_t i = 0; i < n; i++) { // no two pages are the same
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memory[i] = x;
    }
    if (!is_plain) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    for (;;) {
        pause(); // until the program that measures ends it
    }
}
