// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create: a balanced grid for a number of processes. [MPI-5.0 8.5.2]
#ifndef PLI_TOPO_DIMS_H
#define PLI_TOPO_DIMS_H

#include "base/err.h"

// Fill the zero entries of dims so that the product is n_node and they are as close to each other
// as the divisors of n_node allow, in non-increasing order. Context: any thread.
enum pli_err pli_dims_create(int n_node, int n_dim, int dims[]);

#endif
