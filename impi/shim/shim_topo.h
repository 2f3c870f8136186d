// SPDX-License-Identifier: BSD-3-Clause
// Topologies of communicators that span clients.
#ifndef PLI_SHIM_TOPO_H
#define PLI_SHIM_TOPO_H

#include "shim/shim.h"

struct shim_topo {
    int kind;         // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
    int n, n_two;     // cart: dimensions, twice; graph: nodes and edges; distributed: in and out
    bool is_weighted; // distributed
    int n_all;
    int v[]; // cart: dims, then periods; graph: index, then edges; distributed: sources,
             // destinations, and the weights of both
};

// *ours is NULL and the result MPI_SUCCESS: the native function is to be called.
int pli_shim_topo_of(MPI_Comm comm, int kind, struct shim_topo **ours, struct shim_span **span);
// Begins a function of `comm`: its span and topology, or the native library's answer.
#define PLI_SHIM_TOPO_OR(kind, native)                                                             \
    PLI_SHIM_ENTER;                                                                                \
    struct shim_topo *t;                                                                           \
    struct shim_span *s;                                                                           \
    int rc = pli_shim_topo_of(comm, kind, &t, &s);                                                 \
    if (rc != MPI_SUCCESS || t == NULL) {                                                          \
        return rc != MPI_SUCCESS ? rc : (native);                                                  \
    }
// The first n ranks of `s` with topology `t`, which is taken. One within a client stays native.
int pli_shim_topo_attach(struct shim_span *s, int n, struct shim_topo *t, MPI_Comm *out);

struct shim_edges { // of this process
    bool is_cart;
    int n_in, n_out;
    int *in, *out; // in: to be freed; out lies behind it
};
int pli_shim_topo_edges(const struct shim_span *s, struct shim_edges *e);

#endif
