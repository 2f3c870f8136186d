// SPDX-License-Identifier: BSD-3-Clause
// The phases of a collective inside a client, on a native communicator that is ours alone. In a
// blocking operation they are the native library's nonblocking collectives; in one that may overlap
// others (shim_task.h), or with much data, they are messages under its tag. Each returns an MPI
// error code.
#ifndef PLI_SHIM_LOCAL_H
#define PLI_SHIM_LOCAL_H

#include "shim/shim.h"
#include "shim/shim_list.h"

int pli_shim_local_isend(MPI_Comm comm, int to, int tag, const void *buf, MPI_Count count,
                         MPI_Datatype type, MPI_Request *req);
int pli_shim_local_irecv(MPI_Comm comm, int from, int tag, void *buf, MPI_Count count,
                         MPI_Datatype type, MPI_Request *req);
int pli_shim_local_copy(const void *from, void *to, MPI_Count count,
                        MPI_Datatype type); // in this process
int pli_shim_local_combine(const void *from, void *to, MPI_Count count, MPI_Datatype type,
                           MPI_Op op); // MPI_Reduce_local
int pli_shim_local_barrier(MPI_Comm comm);
int pli_shim_local_bcast(MPI_Comm comm, int root, void *buf, MPI_Count count, MPI_Datatype type);
// Blocks of `count` elements each, one after another in `all` at the root, by rank.
int pli_shim_local_gather(MPI_Comm comm, int root, const void *mine, void *all, MPI_Count count,
                          MPI_Datatype type);
int pli_shim_local_scatter(MPI_Comm comm, int root, const void *all, void *mine, MPI_Count count,
                           MPI_Datatype type);
int pli_shim_local_scatterv(MPI_Comm comm, int root, const void *all, struct shim_list counts,
                            struct shim_list displs, void *mine, MPI_Count count,
                            MPI_Datatype type);
// In the order of ranks, whether or not the operation commutes.
int pli_shim_local_reduce(MPI_Comm comm, int root, const void *mine, void *result, MPI_Count count,
                          MPI_Datatype type, MPI_Op op);

#endif
