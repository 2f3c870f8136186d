// SPDX-License-Identifier: BSD-3-Clause
// Which process takes which place of a topology, so that neighbours run close to each other.
#ifndef PLI_TOPO_REMAP_H
#define PLI_TOPO_REMAP_H

#include "base/err.h"
#include "comm/locality.h"

#include <stdbool.h>

// A graph over n nodes: the neighbours of node i end at edges[index[i]] and begin where those of
// node i-1 end; entries below 0 are not there.
struct pli_remap_graph {
    int n;
    const int *index, *edges;
};

enum { PLI_REMAP_N_LEVEL = 5 }; // node, package, memory, cache, core

// Whether the places differ at all in a way that matters.
bool pli_remap_matters(const struct pli_locality places[], int n);

// rank_out[i]: the rank in the topology of the process at places[i]; a permutation of 0 to n-1. It
// is the identity unless another one crosses fewer borders between nodes, packages and caches.
// Depends on nothing but the arguments, so that all ranks find the same. Context: any thread.
enum pli_err pli_remap_cart(const struct pli_locality places[], int n_dim, const int dims[],
                            const int periods[], int rank_out[]);
enum pli_err pli_remap_graph(const struct pli_locality places[], const struct pli_remap_graph *g,
                             int rank_out[]);

// The weight of all borders that edges cross when the process at places[i] has rank[i].
long long pli_remap_cost(const struct pli_locality places[], const struct pli_remap_graph *g,
                         const int rank[]);

#endif
