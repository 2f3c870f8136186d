// SPDX-License-Identifier: BSD-3-Clause
// What a topology is, for all three kinds. Never changed once made, so copies of a communicator
// share it. [MPI-5.0 8]
#ifndef PLI_TOPO_TOPO_H
#define PLI_TOPO_TOPO_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_comm;

struct pli_topo {
    _Atomic unsigned refs;
    int kind; // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
    // The caller's neighbours, in the order of neighborhood collectives.
    int n_in, n_out;
    int *in, *out; // the same array unless MPI_DIST_GRAPH
    // MPI_CART
    int n_dim;
    int *dims, *periods, *coords;
    // MPI_GRAPH, whole: neighbours of node i end at edges[index[i]]
    int n_node, n_edge;
    int *index, *edges;
    // MPI_DIST_GRAPH
    bool is_weighted;
    int *in_weights, *out_weights;
    int data[]; // what the pointers point to
};

// Room for n numbers in data. One reference.
enum pli_err pli_topo_create(int kind, size_t n, struct pli_topo **out);
void pli_topo_release(struct pli_topo *t);

// The topology of a kind, or an error that it is another or none.
enum pli_err pli_topo_get(const struct pli_comm *comm, int kind, const struct pli_topo **out);

// Refuse intercommunicators as parents of topologies.
enum pli_err pli_topo_check_parent(const struct pli_comm *comm);

// A pointer argument that must be there when there is something to read or write.
enum pli_err pli_topo_check_array(const char *name, const void *p, long long n);

// MPI_Topo_test.
enum pli_err pli_topo_test(struct pli_comm *comm, int *status_out);

// Give the rooms below the functions that copy, release and ask topologies. Context: start-up only.
void pli_topo_init(void);

#endif
