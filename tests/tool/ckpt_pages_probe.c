// SPDX-License-Identifier: BSD-3-Clause
// A rank with memory of which a part changes between checkpoints.
//   ckpt_pages_probe MIB PERCENT STEPS [ENDPOINTS]
// Each step makes a checkpoint, prints a sum of the memory and changes PERCENT of its pages.
// With ENDPOINTS each process has so many, which have receives and a reduction under way meanwhile.
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

enum { MOST = 16 };
static MPI_Comm ends[MOST];
static MPI_Request reqs[3 * MOST];
static int in[MOST], out[MOST], sums[MOST];

// Each endpoint sends to the next one of a ring, after the checkpoint.
static void begin_ring(int n, int step)
{
    for (int i = 0; i < n; i++) {
        int me, size;
        MPI_Comm_rank(ends[i], &me);
        MPI_Comm_size(ends[i], &size);
        out[i] = me + step;
        MPI_Irecv(&in[i], 1, MPI_INT, (me + size - 1) % size, step, ends[i], &reqs[i]);
        MPI_Iallreduce(&out[i], &sums[i], 1, MPI_INT, MPI_SUM, ends[i], &reqs[n + i]);
    }
}

static void end_ring(int n, int step)
{
    int me, size, is_bad = 0;
    for (int i = 0; i < n; i++) {
        MPI_Comm_rank(ends[i], &me);
        MPI_Comm_size(ends[i], &size);
        MPI_Isend(&out[i], 1, MPI_INT, (me + 1) % size, step, ends[i], &reqs[2 * n + i]);
    }
    MPI_Waitall(3 * n, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        MPI_Comm_rank(ends[i], &me);
        MPI_Comm_size(ends[i], &size);
        is_bad += in[i] != (me + size - 1) % size + step;
        is_bad += sums[i] != size * (size - 1) / 2 + size * step;
    }
    if (is_bad) {
        fprintf(stderr, "the endpoints have a wrong result at step %d\n", step);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
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
    int n_end = argc > 4 ? atoi(argv[4]) : 0;
    n_end = n_end < MOST ? n_end : MOST;
    if (n_end > 0) {
        MPI_Comm_create_endpoints(MPI_COMM_WORLD, n_end, MPI_INFO_NULL, ends);
    }
    for (int step = 1; step <= atoi(argv[3]); step++) {
        begin_ring(n_end, step);
        int err = MPIX_Checkpoint(MPI_COMM_WORLD, &restarted);
        end_ring(n_end, step);
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
    for (int i = 0; i < n_end; i++) {
        MPI_Comm_free(&ends[i]);
    }
    free(words);
    MPI_Finalize();
    return 0;
}
