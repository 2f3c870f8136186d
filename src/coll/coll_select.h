// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm does a collective: one table, and a setting that overrides it.
#ifndef PLI_COLL_SELECT_H
#define PLI_COLL_SELECT_H

#include "base/err.h"
#include "coll/algorithms.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

struct pli_coll_args;

struct pli_coll_algo {
    const char *name;
    const char *about;
    pli_coll_build_fn build;   // one of the two
    pli_coll_direct_fn direct; // blocking forms only
    unsigned needs;            // see coll_select.c
    MPI_Count min_bytes;       // smallest operation it is chosen for
    MPI_Count max_bytes;       // largest one; 0: any
    int min_rank, max_rank;    // the same for ranks
};

// The first row of the table that fits, or the one that the setting names; the same at every rank,
// because what it goes by is. Fails where the ranks are found to disagree. The communicator is an
// intracommunicator. Context: no lock held.
enum pli_err pli_coll_select(const struct pli_coll_args *a, bool is_blocking,
                             const struct pli_coll_algo **out);

// A direct algorithm returned PLI_AGAIN: the first row below it that fits.
enum pli_err pli_coll_select_other(const struct pli_coll_args *a, const struct pli_coll_algo *than,
                                   const struct pli_coll_algo **out);

// The table, for people.
void pli_coll_select_print(FILE *to);

#endif
