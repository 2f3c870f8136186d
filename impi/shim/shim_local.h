// SPDX-License-Identifier: BSD-3-Clause
// The phases of a collective inside a client, on a native communicator that is ours alone. In a
// blocking operation they are the native library's nonblocking collectives; in one that may overlap
// others (shim_task.h) they are messages under its tag. Each returns an MPI error code.
#ifndef PLI_SHIM_LOCAL_H
#define PLI_SHIM_LOCAL_H

#include "shim/shim.h"

int pli_shim_local_barrier(MPI_Comm comm);
int pli_shim_local_bcast(MPI_Comm comm, int root, void *buf, int count, MPI_Datatype type);
// Blocks of `count` elements each, one after another in `all` at the root, by rank.
int pli_shim_local_gather(MPI_Comm comm, int root, const void *mine, void *all, int count,
                          MPI_Datatype type);
int pli_shim_local_scatter(MPI_Comm comm, int root, const void *all, void *mine, int count,
                           MPI_Datatype type);
int pli_shim_local_scatterv(MPI_Comm comm, int root, const void *all, const int *counts,
                            const int *displs, void *mine, int count, MPI_Datatype type);
// In the order of ranks, whether or not the operation commutes.
int pli_shim_local_reduce(MPI_Comm comm, int root, const void *mine, void *result, int count,
                          MPI_Datatype type, MPI_Op op);

#endif
