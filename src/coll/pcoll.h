// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives: callees of the entry points. [MPI-5.0 6.13, 8.8]
#ifndef PLI_COLL_PCOLL_H
#define PLI_COLL_PCOLL_H

#include "base/err.h"
#include "obj/ints.h"

#include <mpi.h>

struct pli_comm;
struct pli_datatype;
struct pli_op;
struct pli_info;
struct pli_request;

// Context: no lock held, any thread.
enum pli_err pli_pcoll_barrier(struct pli_comm *comm, struct pli_info *info,
                               struct pli_request **out);
enum pli_err pli_pcoll_bcast(void *buffer, MPI_Count count, struct pli_datatype *datatype, int root,
                             struct pli_comm *comm, struct pli_info *info,
                             struct pli_request **out);
enum pli_err pli_pcoll_gather(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                              struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_gatherv(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf,
                               struct pli_ints recvcounts, struct pli_ints displs,
                               struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                               struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_scatter(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                               struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                               struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_scatterv(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints displs, struct pli_datatype *sendtype,
                                void *recvbuf, MPI_Count recvcount, struct pli_datatype *recvtype,
                                int root, struct pli_comm *comm, struct pli_info *info,
                                struct pli_request **out);
enum pli_err pli_pcoll_allgather(const void *sendbuf, MPI_Count sendcount,
                                 struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                 struct pli_datatype *recvtype, struct pli_comm *comm,
                                 struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                  struct pli_datatype *sendtype, void *recvbuf,
                                  struct pli_ints recvcounts, struct pli_ints displs,
                                  struct pli_datatype *recvtype, struct pli_comm *comm,
                                  struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_alltoall(const void *sendbuf, MPI_Count sendcount,
                                struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                struct pli_datatype *recvtype, struct pli_comm *comm,
                                struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                 struct pli_ints sdispls, struct pli_datatype *sendtype,
                                 void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                 struct pli_datatype *recvtype, struct pli_comm *comm,
                                 struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                 struct pli_ints sdispls, const MPI_Datatype *sendtypes,
                                 void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                 const MPI_Datatype *recvtypes, struct pli_comm *comm,
                                 struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                              struct pli_datatype *datatype, struct pli_op *op, int root,
                              struct pli_comm *comm, struct pli_info *info,
                              struct pli_request **out);
enum pli_err pli_pcoll_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                 struct pli_datatype *datatype, struct pli_op *op,
                                 struct pli_comm *comm, struct pli_info *info,
                                 struct pli_request **out);
enum pli_err pli_pcoll_reduce_scatter(const void *sendbuf, void *recvbuf,
                                      struct pli_ints recvcounts, struct pli_datatype *datatype,
                                      struct pli_op *op, struct pli_comm *comm,
                                      struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                            struct pli_datatype *datatype, struct pli_op *op,
                                            struct pli_comm *comm, struct pli_info *info,
                                            struct pli_request **out);
enum pli_err pli_pcoll_scan(const void *sendbuf, void *recvbuf, MPI_Count count,
                            struct pli_datatype *datatype, struct pli_op *op, struct pli_comm *comm,
                            struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_exscan(const void *sendbuf, void *recvbuf, MPI_Count count,
                              struct pli_datatype *datatype, struct pli_op *op,
                              struct pli_comm *comm, struct pli_info *info,
                              struct pli_request **out);
enum pli_err pli_pcoll_neighbor_allgather(const void *sendbuf, MPI_Count sendcount,
                                          struct pli_datatype *sendtype, void *recvbuf,
                                          MPI_Count recvcount, struct pli_datatype *recvtype,
                                          struct pli_comm *comm, struct pli_info *info,
                                          struct pli_request **out);
enum pli_err pli_pcoll_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                           struct pli_datatype *sendtype, void *recvbuf,
                                           struct pli_ints recvcounts, struct pli_ints displs,
                                           struct pli_datatype *recvtype, struct pli_comm *comm,
                                           struct pli_info *info, struct pli_request **out);
enum pli_err pli_pcoll_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount,
                                         struct pli_datatype *sendtype, void *recvbuf,
                                         MPI_Count recvcount, struct pli_datatype *recvtype,
                                         struct pli_comm *comm, struct pli_info *info,
                                         struct pli_request **out);
enum pli_err pli_pcoll_neighbor_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                          struct pli_ints sdispls, struct pli_datatype *sendtype,
                                          void *recvbuf, struct pli_ints recvcounts,
                                          struct pli_ints rdispls, struct pli_datatype *recvtype,
                                          struct pli_comm *comm, struct pli_info *info,
                                          struct pli_request **out);
enum pli_err pli_pcoll_neighbor_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                          const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                          void *recvbuf, struct pli_ints recvcounts,
                                          const MPI_Aint *rdispls, const MPI_Datatype *recvtypes,
                                          struct pli_comm *comm, struct pli_info *info,
                                          struct pli_request **out);

#endif
