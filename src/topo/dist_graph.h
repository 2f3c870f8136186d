// SPDX-License-Identifier: BSD-3-Clause
// Distributed graph topologies: every process knows its own neighbours. [MPI-5.0 8.5.4, 8.5.5]
#ifndef PLI_TOPO_DIST_GRAPH_H
#define PLI_TOPO_DIST_GRAPH_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;
struct pli_info;
struct pli_topo;

// No info key is known; info is there because the standard has it.
enum pli_err pli_dist_graph_create_adjacent(struct pli_comm *comm, int n_in, const int sources[],
                                            const int source_weights[], int n_out,
                                            const int destinations[], const int dest_weights[],
                                            struct pli_info *info, int reorder,
                                            struct pli_comm **out);
enum pli_err pli_dist_graph_n_neighbor(struct pli_comm *comm, int *n_in_out, int *n_out_out,
                                       int *weighted_out);
enum pli_err pli_dist_graph_neighbors(struct pli_comm *comm, int max_in, int sources[],
                                      int source_weights[], int max_out, int destinations[],
                                      int dest_weights[]);

// A topology with room for these neighbours.
enum pli_err pli_dist_graph_topo(int n_in, int n_out, bool is_weighted, struct pli_topo **out);

#endif
