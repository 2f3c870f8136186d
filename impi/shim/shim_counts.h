// SPDX-License-Identifier: BSD-3-Clause
// Large counts for functions that take int: one element of a datatype that has so many.
#ifndef PLI_SHIM_COUNTS_H
#define PLI_SHIM_COUNTS_H

#include "shim/shim.h"

struct shim_pair {
    int count;
    MPI_Datatype type;
    bool is_made;
};

// An MPI error code. The pair is to be dropped after the call that it is for, in any case.
int pli_shim_counts_pair(struct shim_pair *p, MPI_Count count, MPI_Datatype type);
void pli_shim_counts_drop(struct shim_pair *p);

#endif
