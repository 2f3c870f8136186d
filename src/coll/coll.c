// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives.
#include "coll/coll.h"
#include "base/cpu.h"

#include "coll/coll_args.h"
#include "coll/coll_run.h"
#include "obj/comm.h"

PLI_START_VAR static pli_coll_neighbors_fn find_neighbors;

PLI_START void pli_coll_set_neighbors(pli_coll_neighbors_fn fn)
{
    find_neighbors = fn;
}

enum pli_err pli_coll_neighbors(struct pli_comm *comm, struct pli_coll_neighbors *out)
{
    if (comm->topo == NULL || find_neighbors == NULL) {
        return pli_fail(PLI_ERR_TOPOLOGY, "%s has no topology, so a process has no neighbours",
                        pli_comm_say(comm));
    }
    return find_neighbors(comm, out);
}

enum pli_err pli_coll_barrier(struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_BARRIER, .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_bcast(void *buffer, MPI_Count count, struct pli_datatype *datatype, int root,
                            struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_BCAST,
                               .root = root,
                               .recv = { .buf = buffer, .count = count, .type = datatype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_gather(const void *sendbuf, MPI_Count sendcount,
                             struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                             struct pli_datatype *recvtype, int root, struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_GATHER,
                               .root = root,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_gatherv(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf,
                              struct pli_ints recvcounts, struct pli_ints displs,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_GATHERV,
        .root = root,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_scatter(const void *sendbuf, MPI_Count sendcount,
                              struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                              struct pli_datatype *recvtype, int root, struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_SCATTER,
                               .root = root,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_scatterv(const void *sendbuf, struct pli_ints sendcounts,
                               struct pli_ints displs, struct pli_datatype *sendtype, void *recvbuf,
                               MPI_Count recvcount, struct pli_datatype *recvtype, int root,
                               struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_SCATTERV,
        .root = root,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = displs, .type = sendtype },
        .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_allgather(const void *sendbuf, MPI_Count sendcount,
                                struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                struct pli_datatype *recvtype, struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLGATHER,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                 struct pli_datatype *sendtype, void *recvbuf,
                                 struct pli_ints recvcounts, struct pli_ints displs,
                                 struct pli_datatype *recvtype, struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLGATHERV,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_alltoall(const void *sendbuf, MPI_Count sendcount,
                               struct pli_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                               struct pli_datatype *recvtype, struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLTOALL,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints sdispls, struct pli_datatype *sendtype,
                                void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                struct pli_datatype *recvtype, struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLTOALLV,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                struct pli_ints sdispls, const MPI_Datatype *sendtypes,
                                void *recvbuf, struct pli_ints recvcounts, struct pli_ints rdispls,
                                const MPI_Datatype *recvtypes, struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_ALLTOALLW,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .types = sendtypes },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .types = recvtypes },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                             struct pli_datatype *datatype, struct pli_op *op, int root,
                             struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE,
                               .root = root,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                struct pli_datatype *datatype, struct pli_op *op,
                                struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_ALLREDUCE,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_reduce_scatter(const void *sendbuf, void *recvbuf, struct pli_ints recvcounts,
                                     struct pli_datatype *datatype, struct pli_op *op,
                                     struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE_SCATTER,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .counts = recvcounts, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                           struct pli_datatype *datatype, struct pli_op *op,
                                           struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_REDUCE_SCATTER_BLOCK,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_scan(const void *sendbuf, void *recvbuf, MPI_Count count,
                           struct pli_datatype *datatype, struct pli_op *op, struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_SCAN,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_exscan(const void *sendbuf, void *recvbuf, MPI_Count count,
                             struct pli_datatype *datatype, struct pli_op *op,
                             struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_EXSCAN,
                               .send = { .buf = sendbuf },
                               .recv = { .buf = recvbuf, .count = count, .type = datatype },
                               .op = op,
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_neighbor_allgather(const void *sendbuf, MPI_Count sendcount,
                                         struct pli_datatype *sendtype, void *recvbuf,
                                         MPI_Count recvcount, struct pli_datatype *recvtype,
                                         struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLGATHER,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                          struct pli_datatype *sendtype, void *recvbuf,
                                          struct pli_ints recvcounts, struct pli_ints displs,
                                          struct pli_datatype *recvtype, struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_NEIGHBOR_ALLGATHERV,
        .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = displs, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount,
                                        struct pli_datatype *sendtype, void *recvbuf,
                                        MPI_Count recvcount, struct pli_datatype *recvtype,
                                        struct pli_comm *comm)
{
    struct pli_coll_args a = { .kind = PLI_COLL_NEIGHBOR_ALLTOALL,
                               .send = { .buf = sendbuf, .count = sendcount, .type = sendtype },
                               .recv = { .buf = recvbuf, .count = recvcount, .type = recvtype },
                               .comm = comm };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_neighbor_alltoallv(const void *sendbuf, struct pli_ints sendcounts,
                                         struct pli_ints sdispls, struct pli_datatype *sendtype,
                                         void *recvbuf, struct pli_ints recvcounts,
                                         struct pli_ints rdispls, struct pli_datatype *recvtype,
                                         struct pli_comm *comm)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_NEIGHBOR_ALLTOALLV,
        .send = { .buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype },
        .recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype },
        .comm = comm
    };
    return pli_coll_run_now(&a);
}

enum pli_err pli_coll_neighbor_alltoallw(const void *sendbuf, struct pli_ints sendcounts,
                                         const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                         void *recvbuf, struct pli_ints recvcounts,
                                         const MPI_Aint *rdispls, const MPI_Datatype *recvtypes,
                                         struct pli_comm *comm)
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
    return pli_coll_run_now(&a);
}
