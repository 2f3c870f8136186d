// SPDX-License-Identifier: BSD-3-Clause
// Functions for large counts (MPI_Send_c) on communicators that span clients: rest.awk writes them,
// by the functions for int. A count or displacement that is none is an error. What a call gives is
// kept as int until it, or its request, has ended.
#ifndef PLI_SHIM_COUNTS_H
#define PLI_SHIM_COUNTS_H

#include "shim/shim.h"

enum { PLI_SHIM_COUNTS_LISTS = 4 };

// Whose lists: of the neighbours on either side of a topology, of the local group, of those that
// data goes to and comes from.
enum pli_shim_counts_reach {
    PLI_SHIM_COUNTS_SEND,
    PLI_SHIM_COUNTS_RECV,
    PLI_SHIM_COUNTS_OWN,
    PLI_SHIM_COUNTS_PEERS
};

struct shim_counts {
    struct shim_span *span;
    bool is_root, is_idle; // is_idle: no argument counts, since it is another's turn
    int err, n_list;
    int *list[PLI_SHIM_COUNTS_LISTS];
};

// False: `comm` is native. root: NULL if the function has none.
bool pli_shim_counts_begin(struct shim_counts *l, MPI_Comm comm, const int *root);
// Where `is_read` is false the function does not read the argument.
int pli_shim_counts_int(struct shim_counts *l, bool is_read, MPI_Count v);
const int *pli_shim_counts_counts(struct shim_counts *l, bool is_read,
                                  enum pli_shim_counts_reach reach, const MPI_Count *v);
const int *pli_shim_counts_places(struct shim_counts *l, bool is_read,
                                  enum pli_shim_counts_reach reach, const MPI_Aint *v);
int pli_shim_counts_check(const struct shim_counts *l); // MPI_SUCCESS, or what is wrong
// The call has returned rc; request: NULL, or where it has put one.
void pli_shim_counts_end(struct shim_counts *l, int rc, const MPI_Request *request);

#endif
