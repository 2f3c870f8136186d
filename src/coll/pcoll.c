// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives: all of them are schedules.
#include "coll/pcoll.h"

#include "coll/coll_args.h"
#include "coll/coll_run.h"

enum pli_err pli_pcoll_barrier(struct pli_comm *comm, struct pli_info *info,
                               struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_BARRIER, .comm = comm };
    (void)info; // no key means anything to us yet
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_bcast(void *buffer, MPI_Count count, struct pli_datatype *datatype, int root,
                             struct pli_comm *comm, struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_BCAST,
                               .root = root,
                               .recv = { .buf = buffer, .count = count, .type = datatype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_gather(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                              struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_GATHER,
                               .root = root,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_gatherv(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf,
                               struct pli_ints recvcounts, struct pli_ints displs,
                               struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                               struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_GATHERV,
        .root = root,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_scatter(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                               struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                               struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_SCATTER,
                               .root = root,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_scatterv(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints displs, struct pli_datatype *sendtype,
                                void *recvbuf, MPI_Count recvcount, struct pli_datatype *recvtype,
                                int root, struct pli_comm *comm, struct pli_info *info,
                                struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_SCATTERV,
        .root = root,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = displs, .type = sendtype },
        .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_allgather(const void *sendbuf, MPI_Count sendcount,
                                 struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                 struct pli_datatype *recvtype, struct pli_comm *comm,
                                 struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLGATHER,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                  struct pli_datatype *sendtype, void *recvbuf,
                                  struct pli_ints recvcounts, struct pli_ints displs,
                                  struct pli_datatype *recvtype, struct pli_comm *comm,
                                  struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLGATHERV,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_alltoall(const void *sendbuf, MPI_Count sendcount,
                                struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                struct pli_datatype *recvtype, struct pli_comm *comm,
                                struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLTOALL,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                 struct pli_ints sdispls, struct pli_datatype *sendtype,
                                 void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                 struct pli_datatype *recvtype, struct pli_comm *comm,
                                 struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLTOALLV,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                 struct pli_ints sdispls, const MPI_Datatype *sendtypes,
                                 void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                 const MPI_Datatype *recvtypes, struct pli_comm *comm,
                                 struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLTOALLW,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .types = sendtypes },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .types = recvtypes },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                              struct pli_datatype *datatype, struct pli_op *op, int root,
                              struct pli_comm *comm, struct pli_info *info,
                              struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE,
                               .root = root,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                 struct pli_datatype *datatype, struct pli_op *op,
                                 struct pli_comm *comm, struct pli_info *info,
                                 struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLREDUCE,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_reduce_scatter(const void *sendbuf, void *recvbuf,
                                      struct pli_ints recvcounts, struct pli_datatype *datatype,
                                      struct pli_op *op, struct pli_comm *comm,
                                      struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE_SCATTER,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .counts = recvcounts, .type = datatype },
                               .op = op,
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                            struct pli_datatype *datatype, struct pli_op *op,
                                            struct pli_comm *comm, struct pli_info *info,
                                            struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE_SCATTER_BLOCK,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = datatype },
                               .op = op,
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_scan(const void *sendbuf, void *recvbuf, MPI_Count count,
                            struct pli_datatype *datatype, struct pli_op *op, struct pli_comm *comm,
                            struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_SCAN,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_exscan(const void *sendbuf, void *recvbuf, MPI_Count count,
                              struct pli_datatype *datatype, struct pli_op *op,
                              struct pli_comm *comm, struct pli_info *info,
                              struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_EXSCAN,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_neighbor_allgather(const void *sendbuf, MPI_Count sendcount,
                                          struct pli_datatype *sendtype, void *recvbuf,
                                          MPI_Count recvcount, struct pli_datatype *recvtype,
                                          struct pli_comm *comm, struct pli_info *info,
                                          struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLGATHER,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                           struct pli_datatype *sendtype, void *recvbuf,
                                           struct pli_ints recvcounts, struct pli_ints displs,
                                           struct pli_datatype *recvtype, struct pli_comm *comm,
                                           struct pli_info *info, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_NEIGHBOR_ALLGATHERV,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount,
                                         struct pli_datatype *sendtype, void *recvbuf,
                                         MPI_Count recvcount, struct pli_datatype *recvtype,
                                         struct pli_comm *comm, struct pli_info *info,
                                         struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLTOALL,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_neighbor_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                          struct pli_ints sdispls, struct pli_datatype *sendtype,
                                          void *recvbuf, struct pli_ints recvcounts,
                                          struct pli_ints rdispls, struct pli_datatype *recvtype,
                                          struct pli_comm *comm, struct pli_info *info,
                                          struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_NEIGHBOR_ALLTOALLV,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype },
        .comm = comm
    };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}

enum pli_err pli_pcoll_neighbor_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                          const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                          void *recvbuf, struct pli_ints recvcounts,
                                          const MPI_Aint *rdispls, const MPI_Datatype *recvtypes,
                                          struct pli_comm *comm, struct pli_info *info,
                                          struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLTOALLW,
                               .send = { .buf = sendbuf,
                                         .counts = sendcounts,
                                         .displs = { sdispls, true },
                                         .types = sendtypes },
                               .recv = { .buf = recvbuf,
                                         .counts = recvcounts,
                                         .displs = { rdispls, true },
                                         .types = recvtypes },
                               .comm = comm };
    (void)info;
    return pli_coll_run_begin(&a, true, out);
}
