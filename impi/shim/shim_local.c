// SPDX-License-Identifier: BSD-3-Clause
// The phases of a collective inside a client.
#include "shim/shim_local.h"
#include "shim/shim_parts.h"
#include "shim/shim_task.h"
#include <stdlib.h>

static int wait(MPI_Request *req, int rc)
{
    return rc == MPI_SUCCESS ? pli_shim_req_wait_native(req, MPI_STATUS_IGNORE) : rc;
}

static int send(MPI_Comm comm, int to, const void *buf, int count, MPI_Datatype type)
{
    MPI_Request req;
    return wait(&req, PMPI_Isend(buf, count, type, to, pli_shim_task_native_tag(0), comm, &req));
}

static int recv(MPI_Comm comm, int from, void *buf, int count, MPI_Datatype type)
{
    MPI_Request req;
    return wait(&req, PMPI_Irecv(buf, count, type, from, pli_shim_task_native_tag(0), comm, &req));
}

static void look_up(MPI_Comm comm, int *me, int *n)
{
    (void)PMPI_Comm_rank(comm, me);
    (void)PMPI_Comm_size(comm, n);
}

static int copy(const void *from, void *to, int count, MPI_Datatype type)
{
    return PMPI_Sendrecv(from, count, type, 0, 1, to, count, type, 0, 1, pli_shim.self,
                         MPI_STATUS_IGNORE);
}

int pli_shim_local_bcast(MPI_Comm comm, int root, void *buf, int count, MPI_Datatype type)
{
    MPI_Request req;
    int me, n, bit = 1, rc = MPI_SUCCESS;
    if (!pli_shim_task_is_inside()) {
        return wait(&req, PMPI_Ibcast(buf, count, type, root, comm, &req));
    }
    look_up(comm, &me, &n);
    int place = (me - root + n) % n;
    while (bit < n && (place & bit) == 0) {
        bit <<= 1;
    }
    if (place != 0) {
        rc = recv(comm, (me - bit + n) % n, buf, count, type);
    }
    for (bit >>= 1; bit > 0 && rc == MPI_SUCCESS; bit >>= 1) {
        if (place + bit < n) {
            rc = send(comm, (me + bit) % n, buf, count, type);
        }
    }
    return rc;
}

int pli_shim_local_barrier(MPI_Comm comm)
{
    MPI_Request req;
    if (!pli_shim_task_is_inside()) {
        return wait(&req, PMPI_Ibarrier(comm, &req));
    }
    int rc = pli_shim_local_gather(comm, 0, NULL, NULL, 0, MPI_BYTE);
    return rc == MPI_SUCCESS ? pli_shim_local_bcast(comm, 0, NULL, 0, MPI_BYTE) : rc;
}

// The root's parts of `all` to or from the others by messages; equal ones if `counts` is NULL.
static int move(MPI_Comm comm, int root, bool is_gather, void *all, const int *counts,
                const int *displs, void *mine, int count, MPI_Datatype type)
{
    int me, n, rc = MPI_SUCCESS;
    look_up(comm, &me, &n);
    if (me != root) {
        return is_gather ? send(comm, root, mine, count, type)
                         : recv(comm, root, mine, count, type);
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        int k = counts != NULL ? counts[i] : count;
        MPI_Aint place = counts != NULL ? displs[i] : (MPI_Aint)i * count;
        void *at = k == 0 ? NULL : pli_shim_parts_at(all, place, type);
        if (i == me) {
            rc = is_gather ? copy(mine, at, k, type) : copy(at, mine, k, type);
        } else {
            rc = is_gather ? recv(comm, i, at, k, type) : send(comm, i, at, k, type);
        }
    }
    return rc;
}

int pli_shim_local_gather(MPI_Comm comm, int root, const void *mine, void *all, int count,
                          MPI_Datatype type)
{
    MPI_Request req;
    return pli_shim_task_is_inside()
               ? move(comm, root, true, all, NULL, NULL, (void *)(uintptr_t)mine, count, type)
               : wait(&req, PMPI_Igather(mine, count, type, all, count, type, root, comm, &req));
}

int pli_shim_local_scatter(MPI_Comm comm, int root, const void *all, void *mine, int count,
                           MPI_Datatype type)
{
    MPI_Request req;
    return pli_shim_task_is_inside()
               ? move(comm, root, false, (void *)(uintptr_t)all, NULL, NULL, mine, count, type)
               : wait(&req, PMPI_Iscatter(all, count, type, mine, count, type, root, comm, &req));
}

int pli_shim_local_scatterv(MPI_Comm comm, int root, const void *all, const int *counts,
                            const int *displs, void *mine, int count, MPI_Datatype type)
{
    MPI_Request req;
    return pli_shim_task_is_inside()
               ? move(comm, root, false, (void *)(uintptr_t)all, counts, displs, mine, count, type)
               : wait(&req, PMPI_Iscatterv(all, counts, displs, type, mine, count, type, root, comm,
                                           &req));
}

int pli_shim_local_reduce(MPI_Comm comm, int root, const void *mine, void *result, int count,
                          MPI_Datatype type, MPI_Op op)
{
    MPI_Request req;
    int me, n;
    void *in = NULL;
    if (!pli_shim_task_is_inside()) {
        return wait(&req, PMPI_Ireduce(mine, result, count, type, op, root, comm, &req));
    }
    look_up(comm, &me, &n);
    if (me != root) {
        return send(comm, root, mine, count, type);
    }
    void *mem = pli_shim_type_buffer(count, type, &in);
    int rc = mem == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = n - 1; i >= 0 && rc == MPI_SUCCESS; i--) {
        void *to = i == n - 1 ? result : in;
        rc = i == me ? copy(mine, to, count, type) : recv(comm, i, to, count, type);
        if (rc == MPI_SUCCESS && i < n - 1) {
            rc = PMPI_Reduce_local(in, result, count, type, op);
        }
    }
    free(mem);
    return rc;
}
