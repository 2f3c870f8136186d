// SPDX-License-Identifier: BSD-3-Clause
// PLIANT_LOG=coll: which algorithm a collective takes, and why.
#ifndef PLI_COLL_EXPLAIN_H
#define PLI_COLL_EXPLAIN_H

#include <mpi.h>
#include <stdbool.h>

struct pli_comm;

// Whether choices are explained. Context: any thread.
bool pli_coll_explain_open(void);

// Whether it was not told yet that operations of this kind, and of about this size, take this
// algorithm on the communicator. Context: any thread.
bool pli_coll_explain_is_new(const struct pli_comm *comm, int kind, bool is_blocking,
                             MPI_Count bytes, const void *algorithm);

// Tell it: which algorithm, why, and what was passed over.
void pli_coll_explain_tell(const struct pli_comm *comm, const char *operation, bool is_blocking,
                           MPI_Count bytes, const char *algorithm, const char *why,
                           const char *passed);

#endif
