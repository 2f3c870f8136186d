// SPDX-License-Identifier: BSD-3-Clause
// The neighbours of a process in the topology of its communicator, for neighbourhood collectives.
#ifndef PLI_COLL_NEIGHBORS_H
#define PLI_COLL_NEIGHBORS_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;

// The arrays stay with the topology; entries may be MPI_PROC_NULL and may repeat. Edges between the
// same two processes match in order; of a cartesian topology, what goes out in one direction comes
// in from the opposite one, also where both lead to the same process. [MPI-5.0 8.6]
struct pli_neighbors {
    int n_in, n_out;
    const int *in, *out;
    bool is_cartesian; // entries 2i and 2i+1 are the two directions of dimension i
};

// The room of topologies hands over the function that finds neighbours. It is called only for
// communicators with comm->topo set. Context: start-up only.
typedef enum pli_err (*pli_neighbors_fn)(struct pli_comm *comm, struct pli_neighbors *out);
void pli_neighbors_set_finder(pli_neighbors_fn fn);

// Find the neighbours of the calling process. PLI_ERR_TOPOLOGY: the communicator has no topology.
enum pli_err pli_neighbors_find(struct pli_comm *comm, struct pli_neighbors *out);

#endif
