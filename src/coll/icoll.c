// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives: all of them are schedules.
#include "coll/icoll.h"

#include "coll/coll_args.h"
#include "coll/coll_run.h"

enum pli_err pli_icoll_barrier(struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_BARRIER, .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_bcast(void *buffer, MPI_Count count, struct pli_datatype *datatype, int root,
                             struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_BCAST,
                               .root = root,
                               .recv = { .buf = buffer, .count = count, .type = datatype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_gather(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                              struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_GATHER,
                               .root = root,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_gatherv(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf,
                               struct pli_ints recvcounts, struct pli_ints displs,
                               struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                               struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_GATHERV,
        .root = root,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_scatter(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                               struct pli_datatype *recvtype, int root, struct pli_comm *comm,
                               struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_SCATTER,
                               .root = root,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_scatterv(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints displs, struct pli_datatype *sendtype,
                                void *recvbuf, MPI_Count recvcount, struct pli_datatype *recvtype,
                                int root, struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_SCATTERV,
        .root = root,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = displs, .type = sendtype },
        .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_allgather(const void *sendbuf, MPI_Count sendcount,
                                 struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                 struct pli_datatype *recvtype, struct pli_comm *comm,
                                 struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLGATHER,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                  struct pli_datatype *sendtype, void *recvbuf,
                                  struct pli_ints recvcounts, struct pli_ints displs,
                                  struct pli_datatype *recvtype, struct pli_comm *comm,
                                  struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLGATHERV,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_alltoall(const void *sendbuf, MPI_Count sendcount,
                                struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                struct pli_datatype *recvtype, struct pli_comm *comm,
                                struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLTOALL,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                 struct pli_ints sdispls, struct pli_datatype *sendtype,
                                 void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                 struct pli_datatype *recvtype, struct pli_comm *comm,
                                 struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLTOALLV,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                 struct pli_ints sdispls, const MPI_Datatype *sendtypes,
                                 void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                 const MPI_Datatype *recvtypes, struct pli_comm *comm,
                                 struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLTOALLW,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .types = sendtypes },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .types = recvtypes },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                              struct pli_datatype *datatype, struct pli_op *op, int root,
                              struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE,
                               .root = root,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                 struct pli_datatype *datatype, struct pli_op *op,
                                 struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLREDUCE,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_reduce_scatter(const void *sendbuf, void *recvbuf,
                                      struct pli_ints recvcounts, struct pli_datatype *datatype,
                                      struct pli_op *op, struct pli_comm *comm,
                                      struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE_SCATTER,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .counts = recvcounts, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                            struct pli_datatype *datatype, struct pli_op *op,
                                            struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE_SCATTER_BLOCK,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_scan(const void *sendbuf, void *recvbuf, MPI_Count count,
                            struct pli_datatype *datatype, struct pli_op *op, struct pli_comm *comm,
                            struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_SCAN,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_exscan(const void *sendbuf, void *recvbuf, MPI_Count count,
                              struct pli_datatype *datatype, struct pli_op *op,
                              struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_EXSCAN,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_neighbor_allgather(const void *sendbuf, MPI_Count sendcount,
                                          struct pli_datatype *sendtype, void *recvbuf,
                                          MPI_Count recvcount, struct pli_datatype *recvtype,
                                          struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLGATHER,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                           struct pli_datatype *sendtype, void *recvbuf,
                                           struct pli_ints recvcounts, struct pli_ints displs,
                                           struct pli_datatype *recvtype, struct pli_comm *comm,
                                           struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_NEIGHBOR_ALLGATHERV,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount,
                                         struct pli_datatype *sendtype, void *recvbuf,
                                         MPI_Count recvcount, struct pli_datatype *recvtype,
                                         struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLTOALL,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_neighbor_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                          struct pli_ints sdispls, struct pli_datatype *sendtype,
                                          void *recvbuf, struct pli_ints recvcounts,
                                          struct pli_ints rdispls, struct pli_datatype *recvtype,
                                          struct pli_comm *comm, struct pli_request **out)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_NEIGHBOR_ALLTOALLV,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_begin(&a, false, out);
}

enum pli_err pli_icoll_neighbor_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                          const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                          void *recvbuf, struct pli_ints recvcounts,
                                          const MPI_Aint *rdispls, const MPI_Datatype *recvtypes,
                                          struct pli_comm *comm, struct pli_request **out)
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
    return pli_coll_run_begin(&a, false, out);
}
