// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies: grids, with or without periods. [MPI-5.0 8.5.1, 8.5.5 to 8.5.8]
#ifndef PLI_TOPO_CART_H
#define PLI_TOPO_CART_H

#include "base/err.h"

struct pli_comm;
struct pli_topo;

// Questions. Local. Context: any thread.
enum pli_err pli_cart_n_dim(struct pli_comm *comm, int *n_dim_out);
enum pli_err pli_cart_get(struct pli_comm *comm, int max, int dims[], int periods[], int coords[]);
enum pli_err pli_cart_rank(struct pli_comm *comm, const int coords[], int *rank_out);
enum pli_err pli_cart_coords(struct pli_comm *comm, int rank, int max, int coords[]);
enum pli_err pli_cart_shift(struct pli_comm *comm, int direction, int disp, int *source_out,
                            int *dest_out);

// A topology for one rank of a grid.
enum pli_err pli_cart_topo(int n_dim, const int dims[], const int periods[], int rank,
                           struct pli_topo **out);

#endif
