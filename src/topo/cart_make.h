// SPDX-License-Identifier: BSD-3-Clause
// Communicators with a cartesian topology. [MPI-5.0 8.5.1, 8.5.7, 8.5.8]
#ifndef PLI_TOPO_CART_MAKE_H
#define PLI_TOPO_CART_MAKE_H

#include "base/err.h"

struct pli_comm;

enum pli_err pli_cart_make_create(struct pli_comm *comm, int n_dim, const int dims[],
                                  const int periods[], int reorder, struct pli_comm **out);
enum pli_err pli_cart_make_sub(struct pli_comm *comm, const int remain[], struct pli_comm **out);
enum pli_err pli_cart_make_map(struct pli_comm *comm, int n_dim, const int dims[],
                               const int periods[], int *rank_out);

#endif
