// SPDX-License-Identifier: BSD-3-Clause
// Collective operations: what the rest of the library calls, and the blocking entry points'
// callees, which are the same functions. [MPI-5.0 6, 8.6]
#ifndef PLI_COLL_COLL_H
#define PLI_COLL_COLL_H

#include "base/err.h"
#include "obj/ints.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_comm;
struct pli_datatype;
struct pli_op;

// The neighbours of a process in its topology. The arrays stay with the topology; entries may be
// MPI_PROC_NULL and may repeat. Edges between the same two processes match in order; of a cartesian
// topology, what goes out in one direction comes in from the opposite one, also where both lead to
// the same process. [MPI-5.0 8.6]
struct pli_coll_neighbors {
    int n_in, n_out;
    const int *in, *out;
    bool is_cartesian; // entries 2i and 2i+1 are the two directions of dimension i
};

// The room of topologies hands over how to find them. The function is called only for
// communicators with comm->topo set. Context: start-up only.
typedef enum pli_err (*pli_coll_neighbors_fn)(struct pli_comm *comm,
                                              struct pli_coll_neighbors *out);
void pli_coll_set_neighbors(pli_coll_neighbors_fn fn);
enum pli_err pli_coll_neighbors(struct pli_comm *comm, struct pli_coll_neighbors *out);

// Arguments and meaning are those of the MPI functions. Every argument that counts is checked.
// Context: no lock held, any thread; one collective at a time on a communicator.
enum pli_err pli_coll_barrier(struct pli_comm *comm);
enum pli_err pli_coll_bcast(void *buffer, MPI_Count count, struct pli_datatype *datatype, int root,
                            struct pli_comm *comm);
enum pli_err pli_coll_gather(const void *sendbuf, MPI_Count sendcount,
                             struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                             struct pli_datatype *recvtype, int root, struct pli_comm *comm);
enum pli_err pli_coll_gatherv(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf,
                              struct pli_ints recvcounts, struct pli_ints displs,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm);
enum pli_err pli_coll_scatter(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm);
enum pli_err pli_coll_scatterv(const void *sendbuf, struct pli_ints sendcounts,
                               struct pli_ints displs, struct pli_datatype *sendtype, void *recvbuf,
                               MPI_Count recvcount, struct pli_datatype *recvtype, int root,
                               struct pli_comm *comm);
enum pli_err pli_coll_allgather(const void *sendbuf, MPI_Count sendcount,
                                struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                struct pli_datatype *recvtype, struct pli_comm *comm);
enum pli_err pli_coll_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                 struct pli_datatype *sendtype, void *recvbuf,
                                 struct pli_ints recvcounts, struct pli_ints displs,
                                 struct pli_datatype *recvtype, struct pli_comm *comm);
enum pli_err pli_coll_alltoall(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                               struct pli_datatype *recvtype, struct pli_comm *comm);
enum pli_err pli_coll_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints sdispls, struct pli_datatype *sendtype,
                                void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                struct pli_datatype *recvtype, struct pli_comm *comm);
enum pli_err pli_coll_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints sdispls, const MPI_Datatype *sendtypes,
                                void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                const MPI_Datatype *recvtypes, struct pli_comm *comm);
enum pli_err pli_coll_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                             struct pli_datatype *datatype, struct pli_op *op, int root,
                             struct pli_comm *comm);
enum pli_err pli_coll_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                struct pli_datatype *datatype, struct pli_op *op,
                                struct pli_comm *comm);
enum pli_err pli_coll_reduce_scatter(const void *sendbuf, void *recvbuf, struct pli_ints recvcounts,
                                     struct pli_datatype *datatype, struct pli_op *op,
                                     struct pli_comm *comm);
enum pli_err pli_coll_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                           struct pli_datatype *datatype, struct pli_op *op,
                                           struct pli_comm *comm);
enum pli_err pli_coll_scan(const void *sendbuf, void *recvbuf, MPI_Count count,
                           struct pli_datatype *datatype, struct pli_op *op, struct pli_comm *comm);
enum pli_err pli_coll_exscan(const void *sendbuf, void *recvbuf, MPI_Count count,
                             struct pli_datatype *datatype, struct pli_op *op,
                             struct pli_comm *comm);
enum pli_err pli_coll_neighbor_allgather(const void *sendbuf, MPI_Count sendcount,
                                         struct pli_datatype *sendtype, void *recvbuf,
                                         MPI_Count recvcount, struct pli_datatype *recvtype,
                                         struct pli_comm *comm);
enum pli_err pli_coll_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                          struct pli_datatype *sendtype, void *recvbuf,
                                          struct pli_ints recvcounts, struct pli_ints displs,
                                          struct pli_datatype *recvtype, struct pli_comm *comm);
enum pli_err pli_coll_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount,
                                        struct pli_datatype *sendtype, void *recvbuf,
                                        MPI_Count recvcount, struct pli_datatype *recvtype,
                                        struct pli_comm *comm);
enum pli_err pli_coll_neighbor_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                         struct pli_ints sdispls, struct pli_datatype *sendtype,
                                         void *recvbuf, struct pli_ints recvcounts,
                                         struct pli_ints rdispls, struct pli_datatype *recvtype,
                                         struct pli_comm *comm);
enum pli_err pli_coll_neighbor_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                         const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                         void *recvbuf, struct pli_ints recvcounts,
                                         const MPI_Aint *rdispls, const MPI_Datatype *recvtypes,
                                         struct pli_comm *comm);

#endif
