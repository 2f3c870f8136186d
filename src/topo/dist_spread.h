// SPDX-License-Identifier: BSD-3-Clause
// Distributed graph topologies from edges that any process may name. [MPI-5.0 8.5.4]
#ifndef PLI_TOPO_DIST_SPREAD_H
#define PLI_TOPO_DIST_SPREAD_H

#include "base/err.h"

struct pli_comm;
struct pli_info;

// No info key is known; info is there because the standard has it.
enum pli_err pli_dist_graph_create(struct pli_comm *comm, int n, const int sources[],
                                   const int degrees[], const int destinations[],
                                   const int weights[], struct pli_info *info, int reorder,
                                   struct pli_comm **out);

#endif
