// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies, known whole to every process. [MPI-5.0 8.5.3, 8.5.5, 8.5.8]
#ifndef PLI_TOPO_GRAPH_H
#define PLI_TOPO_GRAPH_H

#include "base/err.h"

struct pli_comm;

enum pli_err pli_graph_create(struct pli_comm *comm, int n_node, const int index[],
                              const int edges[], int reorder, struct pli_comm **out);
enum pli_err pli_graph_map(struct pli_comm *comm, int n_node, const int index[], const int edges[],
                           int *rank_out);
enum pli_err pli_graph_dims(struct pli_comm *comm, int *n_node_out, int *n_edge_out);
enum pli_err pli_graph_get(struct pli_comm *comm, int max_index, int max_edges, int index[],
                           int edges[]);
enum pli_err pli_graph_n_neighbor(struct pli_comm *comm, int rank, int *n_out);
enum pli_err pli_graph_neighbors(struct pli_comm *comm, int rank, int max, int neighbors[]);

#endif
