// SPDX-License-Identifier: BSD-3-Clause
// The collectives that compute, on communicators that span clients. Operations are the native
// library's, so users' own work too.
#include "shim/shim_coll.h"
#include "shim/shim_req.h"
#include <stdlib.h>

struct fold {
    int count;
    MPI_Datatype type;
    MPI_Op op;
    void *acc;         // the result so far
    const void *own;   // our data, for an ordered reduction
    void *in, *prefix; // room for what comes; if not NULL, where an exclusive scan's result goes
};

static int copy(const void *from, void *to, int count, MPI_Datatype type)
{
    return PMPI_Sendrecv(from, count, type, 0, 0, to, count, type, 0, 0, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
}

static int take(void *arg, const unsigned char *in, size_t len, bool is_first)
{
    struct fold *f = arg;
    const void *from = f->own;
    int rc = MPI_SUCCESS;
    if (in != NULL) {
        rc = pli_shim_type_unpack(in, len, f->in, f->count, f->type);
        from = f->in;
    }
    if (rc == MPI_SUCCESS && f->prefix != NULL) {
        rc = copy(from, f->prefix, f->count, f->type);
    }
    if (rc == MPI_SUCCESS) {
        rc = is_first ? copy(from, f->acc, f->count, f->type)
                      : PMPI_Reduce_local(from, f->acc, f->count, f->type, f->op);
    }
    return rc;
}

static int show(void *arg, unsigned char *out)
{
    struct fold *f = arg;
    return pli_shim_type_pack(f->acc, f->count, f->type, out);
}

static int wait_native(MPI_Request *req, int rc)
{
    return rc == MPI_SUCCESS ? pli_shim_req_wait_native(req, MPI_STATUS_IGNORE) : rc;
}

// Result at the root in `recvbuf`, which elsewhere may be anything. `sendbuf` may be MPI_IN_PLACE
// at the root.
int pli_shim_coll_reduce(struct shim_span *s, const void *sendbuf, void *recvbuf, int count,
                         MPI_Datatype type, MPI_Op op, int root)
{
    size_t size;
    int commutes = 0;
    bool is_root = s->rank == root;
    struct fold f = { .count = count, .type = type, .op = op };
    if (root < 0 || root >= s->size || count < 0) {
        return count < 0 ? MPI_ERR_COUNT : MPI_ERR_ROOT;
    }
    int rc = pli_shim_type_size(type, &size);
    rc = rc == MPI_SUCCESS ? PMPI_Op_commutative(op, &commutes) : rc;
    if (rc != MPI_SUCCESS || count == 0) {
        return rc;
    }
    void *acc_mem = pli_shim_type_buffer(count, type, &f.acc);
    void *in_mem = pli_shim_type_buffer(count, type, &f.in);
    if (acc_mem == NULL || in_mem == NULL) {
        free(acc_mem);
        free(in_mem);
        return MPI_ERR_NO_MEM;
    }
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    if (commutes != 0) {
        MPI_Request req;
        int head = pli_impi_map_head(s->map, root, s->rank);
        rc = wait_native(
            &req, PMPI_Ireduce(mine, f.acc, count, type, op, s->native[head], s->local, &req));
    } else {
        f.own = mine;
        rc = is_root ? MPI_SUCCESS : copy(mine, f.acc, count, type);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_play_fold(s,
                                commutes != 0 ? PLI_IMPI_COLL_REDUCE : PLI_IMPI_COLL_REDUCE_ORDERED,
                                root, size * (size_t)count, take, show, &f);
    }
    if (rc == MPI_SUCCESS && is_root) {
        rc = copy(f.acc, recvbuf, count, type);
    }
    free(acc_mem);
    free(in_mem);
    return rc;
}

int pli_shim_coll_allreduce(struct shim_span *s, const void *sendbuf, void *recvbuf, int count,
                            MPI_Datatype type, MPI_Op op)
{
    int rc = pli_shim_coll_reduce(s, sendbuf, recvbuf, count, type, op, 0);
    return rc == MPI_SUCCESS ? MPI_Bcast(recvbuf, count, type, 0, s->handle) : rc;
}

static int reduce_scatter(struct shim_span *s, const void *sendbuf, void *recvbuf,
                          const int *counts, int each, MPI_Datatype type, MPI_Op op)
{
    int total = 0, rc = MPI_SUCCESS;
    void *buf = NULL;
    int *displs = malloc((size_t)s->size * sizeof *displs);
    for (int i = 0; displs != NULL && i < s->size; i++) {
        displs[i] = total;
        total += counts != NULL ? counts[i] : each;
    }
    void *mem = displs == NULL ? NULL : pli_shim_type_buffer(total, type, &buf);
    rc = mem == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
        rc = pli_shim_coll_reduce(s, mine, buf, total, type, op, 0);
    }
    if (rc == MPI_SUCCESS) {
        rc = counts != NULL ? MPI_Scatterv(buf, counts, displs, type, recvbuf, counts[s->rank],
                                           type, 0, s->handle)
                            : MPI_Scatter(buf, each, type, recvbuf, each, type, 0, s->handle);
    }
    free(displs);
    free(mem);
    return rc;
}

int pli_shim_coll_reduce_scatter(struct shim_span *s, const void *sendbuf, void *recvbuf,
                                 const int counts[], MPI_Datatype type, MPI_Op op)
{
    return reduce_scatter(s, sendbuf, recvbuf, counts, 0, type, op);
}

int pli_shim_coll_reduce_scatter_block(struct shim_span *s, const void *sendbuf, void *recvbuf,
                                       int count, MPI_Datatype type, MPI_Op op)
{
    return reduce_scatter(s, sendbuf, recvbuf, NULL, count, type, op);
}

static int scan(struct shim_span *s, const void *sendbuf, void *recvbuf, int count,
                MPI_Datatype type, MPI_Op op, bool is_exclusive)
{
    size_t size;
    struct fold f = { .count = count, .type = type, .op = op };
    int rc = count < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    if (rc != MPI_SUCCESS || count == 0) {
        return rc;
    }
    void *acc_mem = pli_shim_type_buffer(count, type, &f.acc);
    void *in_mem = pli_shim_type_buffer(count, type, &f.in);
    rc = acc_mem == NULL || in_mem == NULL
             ? MPI_ERR_NO_MEM
             : copy(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, f.acc, count, type);
    if (rc == MPI_SUCCESS) {
        f.prefix = is_exclusive ? recvbuf : NULL;
        rc = pli_shim_play_fold(s, PLI_IMPI_COLL_SCAN, 0, size * (size_t)count, take, show, &f);
    }
    if (rc == MPI_SUCCESS && !is_exclusive) {
        rc = copy(f.acc, recvbuf, count, type);
    }
    free(acc_mem);
    free(in_mem);
    return rc;
}

int pli_shim_coll_scan(struct shim_span *s, const void *sendbuf, void *recvbuf, int count,
                       MPI_Datatype type, MPI_Op op)
{
    return scan(s, sendbuf, recvbuf, count, type, op, false);
}

int pli_shim_coll_exscan(struct shim_span *s, const void *sendbuf, void *recvbuf, int count,
                         MPI_Datatype type, MPI_Op op)
{
    return scan(s, sendbuf, recvbuf, count, type, op, true);
}
