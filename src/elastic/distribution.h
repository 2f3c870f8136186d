// SPDX-License-Identifier: BSD-3-Clause
// How the elements of an array are distributed over ranks: in blocks, cyclically, or as lists of
// ranges say.
#ifndef PLI_ELASTIC_DISTRIBUTION_H
#define PLI_ELASTIC_DISTRIBUTION_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum pli_distribution_kind { PLI_BLOCK, PLI_CYCLIC, PLI_IRREGULAR };

// Elements first to first + count - 1 are at `rank`, from `local` on.
struct pli_range {
    MPI_Count first, count, local;
    int rank;
};

struct pli_distribution {
    enum pli_distribution_kind kind;
    int size; // ranks
    MPI_Count n, block;
    struct pli_range *ranges; // of an irregular one, ascending; owned
    int64_t n_range;
};

// Sort the ranges of an irregular one. An error names two ranks that have the same element.
enum pli_err pli_distribution_sort(struct pli_distribution *d);
// The range that element i is in, from i on; rank -1: no rank has these elements. count is 0 behind
// the last element.
struct pli_range pli_distribution_find(const struct pli_distribution *d, MPI_Count i);
// The k-th range of a rank, in the order of the elements. *k goes on to the next one; begin with 0.
bool pli_distribution_next(const struct pli_distribution *d, int rank, int64_t *k,
                           struct pli_range *out);
// How many elements a rank has.
MPI_Count pli_distribution_count(const struct pli_distribution *d, int rank);

#endif
