// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm does a collective: one table, and a setting that overrides it.
#ifndef PLI_COLL_SELECT_H
#define PLI_COLL_SELECT_H

#include "base/err.h"
#include "coll/algorithms.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
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
    MPI_Count max_all;         // largest one in all ranks' blocks together; 0: any
};

// The first row of the table that fits, or the one that the setting names; the same at every rank,
// because what it goes by is. Fails where the ranks are found to disagree. The communicator is an
// intracommunicator. Context: no lock held.
enum pli_err pli_coll_select(const struct pli_coll_args *a, bool is_blocking,
                             const struct pli_coll_algo **out);

// A direct algorithm returned PLI_AGAIN: the first row below it that fits.
enum pli_err pli_coll_select_other(const struct pli_coll_args *a, const struct pli_coll_algo *than,
                                   const struct pli_coll_algo **out);

// An algorithm of an operation by its name; or the i-th. NULL: there is none.
const struct pli_coll_algo *pli_coll_select_named(int kind, const char *name);
const struct pli_coll_algo *pli_coll_select_row(int kind, int i);

// Take this row from now on, where it can do the operation; NULL: as usual. For measuring; all
// members do so at the same point. Context: no collective is under way.
void pli_coll_select_force(int kind, const struct pli_coll_algo *row);
// Which one the last call took, since then.
const struct pli_coll_algo *pli_coll_select_taken(int kind);
// How often the i-th was used while statistics are on; i < 0: how often all were, with those that
// are in no row.
uint64_t pli_coll_select_used(int kind, int i);
// Count a use of an algorithm. Context: any thread.
void pli_coll_select_count(const struct pli_coll_args *a, const struct pli_coll_algo *algo)
    __attribute__((cold));

// The table, for people.
void pli_coll_select_print(FILE *to);

#endif
