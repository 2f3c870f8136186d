// SPDX-License-Identifier: BSD-3-Clause
// Shared by the ways of mapping topologies onto places.
#ifndef PLI_TOPO_REMAP_PRIV_H
#define PLI_TOPO_REMAP_PRIV_H

#include "topo/remap.h"

// Whether two processes share everything down to and including a level.
bool pli_remap_same(const struct pli_locality *a, const struct pli_locality *b, int level);

// Grow parts of the graph, one per node, then one per package inside it, and so on: order[k] is the
// graph's node for the k-th process of `procs`. False: no memory.
bool pli_remap_grow(const struct pli_locality places[], const int procs[],
                    const struct pli_remap_graph *g, int order[]);

#endif
