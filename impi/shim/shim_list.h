// SPDX-License-Identifier: BSD-3-Clause
// Counts or displacements of a collective as the program has given them, to a function for int or
// to one for large counts; the program leaves them alone until the operation is over.
#ifndef PLI_SHIM_LIST_H
#define PLI_SHIM_LIST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct shim_list {
    const int *narrow; // at most one of them is not NULL
    const MPI_Count *wide;
    const MPI_Aint *places;
};

#define PLI_SHIM_LIST_NONE ((struct shim_list){ 0 })
#define PLI_SHIM_LIST_NARROW(x) ((struct shim_list){ .narrow = (x) })
#define PLI_SHIM_LIST_WIDE(x) ((struct shim_list){ .wide = (x) })
#define PLI_SHIM_LIST_PLACES(x) ((struct shim_list){ .places = (x) })

static inline bool pli_shim_list_is(struct shim_list l)
{
    return l.narrow != NULL || l.wide != NULL || l.places != NULL;
}

static inline MPI_Count pli_shim_list_at(struct shim_list l, int i)
{
    return l.narrow != NULL ? l.narrow[i] : l.wide != NULL ? l.wide[i] : l.places[i];
}

#endif
