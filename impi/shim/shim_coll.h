// SPDX-License-Identifier: BSD-3-Clause
// The collectives on communicators that span clients: pli_shim_coll_ on intracommunicators,
// pli_shim_across_ on inter-communicators, pli_shim_coll_neighbor_ along a topology. Each returns
// an MPI error code.
#ifndef PLI_SHIM_COLL_H
#define PLI_SHIM_COLL_H

#include "shim/shim.h"
#include "shim/shim_list.h"

#define PLI_SHIM_BARE(...) __VA_ARGS__
#define COLL(name, small, params, args)                                                            \
    int pli_shim_coll_##small(struct shim_span *s, PLI_SHIM_BARE params);                          \
    int pli_shim_across_##small(struct shim_span *s, PLI_SHIM_BARE params);
#define NEIGHBOR(name, small, params, args)                                                        \
    int pli_shim_coll_##small(struct shim_span *s, PLI_SHIM_BARE params);
#define COUNT MPI_Count
#define COUNTS(name) struct shim_list name
#define PLACES(name) struct shim_list name
#include "shim/shim_coll.def"
#undef COLL
#undef COUNT
#undef COUNTS
#undef PLACES

int pli_shim_across_barrier(struct shim_span *s);

// The arguments of any of them, kept while it is under way.
struct shim_coll_args {
    const void *sendbuf;
    void *buf, *recvbuf;
    MPI_Count count, sendcount, recvcount;
    int root;
    struct shim_list counts, displs, sendcounts, sdispls, recvcounts, rdispls;
    const MPI_Aint *sbytes, *rbytes;
    MPI_Datatype type, sendtype, recvtype;
    const MPI_Datatype *sendtypes, *recvtypes;
    MPI_Op op;
};

#endif
