// SPDX-License-Identifier: BSD-3-Clause
// A rank with memory of which a part changes between checkpoints.
//   ckpt_pages_probe MIB PERCENT STEPS
// Each step makes a checkpoint, prints a sum of the memory and changes PERCENT of its pages.
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096 };

static uint64_t sum_of(const uint64_t *words, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum = (sum ^ words[i]) * 0x9fb21c651e98df25u;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank, restarted;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    size_t n_byte = (size_t)atoi(argv[1]) << 20, n_page = n_byte / PAGE;
    size_t n_change = n_page * (size_t)atoi(argv[2]) / 100;
    uint64_t *words = malloc(n_byte);
    for (size_t i = 0; i < n_byte / sizeof *words; i++) {
        words[i] = (i + (uint64_t)rank) * 2654435761u;
    }
    for (int step = 1; step <= atoi(argv[3]); step++) {
        int err = MPIX_Checkpoint(MPI_COMM_WORLD, &restarted);
        MPI_Barrier(MPI_COMM_WORLD);
        printf("step %d of rank %d: %s %016llx\n", step, rank,
               err == MPI_SUCCESS ? "saved" : "not saved",
               (unsigned long long)sum_of(words, n_byte / sizeof *words));
        fflush(stdout);
        for (size_t i = 0; i < n_change; i++) {
            words[i * (n_page / n_change) * (PAGE / sizeof *words) + (size_t)step] +=
                (uint64_t)step;
        }
        // a part of the memory is given back, and comes again
        void *other = calloc(1, PAGE * (size_t)(300 + 50 * step));
        free(other);
    }
    free(words);
    MPI_Finalize();
    return 0;
}
