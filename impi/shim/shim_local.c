// SPDX-License-Identifier: BSD-3-Clause
// The phases of a collective inside a client.
#include "shim/shim_local.h"
#include "shim/shim_counts.h"
#include "shim/shim_parts.h"
#include "shim/shim_task.h"
#include <limits.h>
#include <stdlib.h>

static int wait(MPI_Request *req, int rc)
{
    return rc == MPI_SUCCESS ? pli_shim_req_wait_native(req, MPI_STATUS_IGNORE) : rc;
}

int pli_shim_local_isend(MPI_Comm comm, int to, int tag, const void *buf, MPI_Count count,
                         MPI_Datatype type, MPI_Request *req)
{
    struct shim_pair p;
    int rc = pli_shim_counts_pair(&p, count, type);
    rc = rc == MPI_SUCCESS ? PMPI_Isend(buf, p.count, p.type, to, tag, comm, req) : rc;
    pli_shim_counts_drop(&p);
    return rc;
}

int pli_shim_local_irecv(MPI_Comm comm, int from, int tag, void *buf, MPI_Count count,
                         MPI_Datatype type, MPI_Request *req)
{
    struct shim_pair p;
    int rc = pli_shim_counts_pair(&p, count, type);
    rc = rc == MPI_SUCCESS ? PMPI_Irecv(buf, p.count, p.type, from, tag, comm, req) : rc;
    pli_shim_counts_drop(&p);
    return rc;
}

static int send(MPI_Comm comm, int to, const void *buf, MPI_Count count, MPI_Datatype type)
{
    MPI_Request req;
    return wait(
        &req, pli_shim_local_isend(comm, to, pli_shim_task_native_tag(0), buf, count, type, &req));
}

static int recv(MPI_Comm comm, int from, void *buf, MPI_Count count, MPI_Datatype type)
{
    MPI_Request req;
    return wait(&req, pli_shim_local_irecv(comm, from, pli_shim_task_native_tag(0), buf, count,
                                           type, &req));
}

static void look_up(MPI_Comm comm, int *me, int *n)
{
    (void)PMPI_Comm_rank(comm, me);
    (void)PMPI_Comm_size(comm, n);
}

int pli_shim_local_copy(const void *from, void *to, MPI_Count count, MPI_Datatype type)
{
    struct shim_pair p;
    int rc = pli_shim_counts_pair(&p, count, type);
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Sendrecv(from, p.count, p.type, 0, 1, to, p.count, p.type, 0, 1, pli_shim.self,
                           MPI_STATUS_IGNORE);
    }
    pli_shim_counts_drop(&p);
    return rc;
}

int pli_shim_local_combine(const void *from, void *to, MPI_Count count, MPI_Datatype type,
                           MPI_Op op)
{
    enum { CHUNK = 1 << 30 };
    int rc = MPI_SUCCESS;
    for (MPI_Count at = 0; at < count && rc == MPI_SUCCESS; at += CHUNK) {
        MPI_Count n = count - at < CHUNK ? count - at : CHUNK;
        rc = PMPI_Reduce_local(pli_shim_parts_at(from, at, type), pli_shim_parts_at(to, at, type),
                               (int)n, type, op);
    }
    return rc;
}

// Whether a phase is done by messages: in an operation that may overlap others, and where there are
// more bytes than an int counts, since collectives of some libraries fail there. The members may
// have different types, but have the same number of bytes.
static bool is_by_messages(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    (void)PMPI_Type_size_x(type, &size);
    return pli_shim_task_is_inside() || size * count > INT_MAX;
}

// The count where it is not: more than an int has are elements without a byte.
static int few(MPI_Count count)
{
    return count > INT_MAX ? 0 : (int)count;
}

int pli_shim_local_bcast(MPI_Comm comm, int root, void *buf, MPI_Count count, MPI_Datatype type)
{
    MPI_Request req;
    int me, n, bit = 1, rc = MPI_SUCCESS;
    if (!is_by_messages(count, type)) {
        return wait(&req, PMPI_Ibcast(buf, few(count), type, root, comm, &req));
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
static int move(MPI_Comm comm, int root, bool is_gather, void *all, struct shim_list counts,
                struct shim_list displs, void *mine, MPI_Count count, MPI_Datatype type)
{
    int me, n, rc = MPI_SUCCESS;
    look_up(comm, &me, &n);
    if (me != root) {
        return is_gather ? send(comm, root, mine, count, type)
                         : recv(comm, root, mine, count, type);
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        MPI_Count k = pli_shim_list_is(counts) ? pli_shim_list_at(counts, i) : count;
        MPI_Count place = pli_shim_list_is(counts) ? pli_shim_list_at(displs, i) : i * count;
        void *at = k == 0 ? NULL : pli_shim_parts_at(all, place, type);
        if (i == me) {
            rc = is_gather ? pli_shim_local_copy(mine, at, k, type)
                           : pli_shim_local_copy(at, mine, k, type);
        } else {
            rc = is_gather ? recv(comm, i, at, k, type) : send(comm, i, at, k, type);
        }
    }
    return rc;
}

int pli_shim_local_gather(MPI_Comm comm, int root, const void *mine, void *all, MPI_Count count,
                          MPI_Datatype type)
{
    MPI_Request req;
    if (is_by_messages(count, type)) {
        return move(comm, root, true, all, PLI_SHIM_LIST_NONE, PLI_SHIM_LIST_NONE,
                    (void *)(uintptr_t)mine, count, type);
    }
    int n = few(count);
    return wait(&req, PMPI_Igather(mine, n, type, all, n, type, root, comm, &req));
}

int pli_shim_local_scatter(MPI_Comm comm, int root, const void *all, void *mine, MPI_Count count,
                           MPI_Datatype type)
{
    MPI_Request req;
    if (is_by_messages(count, type)) {
        return move(comm, root, false, (void *)(uintptr_t)all, PLI_SHIM_LIST_NONE,
                    PLI_SHIM_LIST_NONE, mine, count, type);
    }
    int n = few(count);
    return wait(&req, PMPI_Iscatter(all, n, type, mine, n, type, root, comm, &req));
}

int pli_shim_local_scatterv(MPI_Comm comm, int root, const void *all, struct shim_list counts,
                            struct shim_list displs, void *mine, MPI_Count count, MPI_Datatype type)
{
    return move(comm, root, false, (void *)(uintptr_t)all, counts, displs, mine, count, type);
}

int pli_shim_local_reduce(MPI_Comm comm, int root, const void *mine, void *result, MPI_Count count,
                          MPI_Datatype type, MPI_Op op)
{
    MPI_Request req;
    int me, n;
    void *in = NULL;
    if (!is_by_messages(count, type)) {
        return wait(&req, PMPI_Ireduce(mine, result, few(count), type, op, root, comm, &req));
    }
    look_up(comm, &me, &n);
    if (me != root) {
        return send(comm, root, mine, count, type);
    }
    void *mem = pli_shim_type_buffer(count, type, &in);
    int rc = mem == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = n - 1; i >= 0 && rc == MPI_SUCCESS; i--) {
        void *to = i == n - 1 ? result : in;
        rc = i == me ? pli_shim_local_copy(mine, to, count, type) : recv(comm, i, to, count, type);
        if (rc == MPI_SUCCESS && i < n - 1) {
            rc = pli_shim_local_combine(in, result, count, type, op);
        }
    }
    free(mem);
    return rc;
}
