// SPDX-License-Identifier: BSD-3-Clause
// The collectives that compute, on communicators that span clients. Operations are the native
// library's, so users' own work too.
#include "shim/shim_coll.h"
#include "shim/shim_local.h"
#include "shim/shim_plan.h"
#include <stdlib.h>

struct fold {
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    size_t len;        // of the data outside
    void *acc;         // the result so far
    const void *own;   // our data, for an ordered reduction
    void *in, *prefix; // room for what comes; if not NULL, where an exclusive scan's result goes
    void *acc_mem, *in_mem;
};

// A reduction without data has no messages.
static bool is_nothing(MPI_Count count, MPI_Datatype type)
{
    size_t size;
    return count == 0 || (count > 0 && pli_shim_type_size(type, &size) == MPI_SUCCESS && size == 0);
}

// Nothing is to be done if is_nothing.
static int open_fold(struct fold *f, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    size_t size = 0;
    int rc = count < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    *f = (struct fold){ .count = count, .type = type, .op = op, .len = size * (size_t)count };
    if (rc != MPI_SUCCESS || size * (size_t)count == 0) {
        return rc;
    }
    f->acc_mem = pli_shim_type_buffer(count, type, &f->acc);
    f->in_mem = pli_shim_type_buffer(count, type, &f->in);
    return f->acc_mem == NULL || f->in_mem == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

static int close_fold(struct fold *f, int rc)
{
    free(f->acc_mem);
    free(f->in_mem);
    return rc;
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
        rc = pli_shim_local_copy(from, f->prefix, f->count, f->type);
    }
    if (rc == MPI_SUCCESS) {
        rc = is_first ? pli_shim_local_copy(from, f->acc, f->count, f->type)
                      : pli_shim_local_combine(from, f->acc, f->count, f->type, f->op);
    }
    return rc;
}

static int show(void *arg, unsigned char *out)
{
    struct fold *f = arg;
    return pli_shim_type_pack(f->acc, f->count, f->type, out);
}

// Result at the root in `recvbuf`, which elsewhere may be anything. `sendbuf` may be MPI_IN_PLACE
// at the root.
int pli_shim_coll_reduce(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                         MPI_Datatype type, MPI_Op op, int root)
{
    int commutes = 0;
    bool is_root = s->rank == root;
    struct fold f;
    if (root < 0 || root >= s->size) {
        return MPI_ERR_ROOT;
    }
    int rc = open_fold(&f, count, type, op);
    rc = rc == MPI_SUCCESS ? PMPI_Op_commutative(op, &commutes) : rc;
    if (rc != MPI_SUCCESS || f.len == 0) {
        return close_fold(&f, rc);
    }
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    if (commutes != 0) {
        int head = pli_impi_map_head(s->map, root, s->rank);
        rc = pli_shim_local_reduce(s->local, s->native[head], mine, f.acc, count, type, op);
    } else {
        f.own = mine;
        rc = is_root ? MPI_SUCCESS : pli_shim_local_copy(mine, f.acc, count, type);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_fold(s,
                                commutes != 0 ? PLI_IMPI_COLL_REDUCE : PLI_IMPI_COLL_REDUCE_ORDERED,
                                root, f.len, take, show, &f);
    }
    if (rc == MPI_SUCCESS && is_root) {
        rc = pli_shim_local_copy(f.acc, recvbuf, count, type);
    }
    return close_fold(&f, rc);
}

int pli_shim_coll_allreduce(struct shim_span *s, const void *sendbuf, void *recvbuf,
                            MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int rc = pli_shim_coll_reduce(s, sendbuf, recvbuf, count, type, op, 0);
    return rc == MPI_SUCCESS && !is_nothing(count, type)
               ? pli_shim_coll_bcast(s, recvbuf, count, type, 0)
               : rc;
}

static int reduce_scatter(struct shim_span *s, const void *sendbuf, void *recvbuf,
                          struct shim_list counts, MPI_Count each, MPI_Datatype type, MPI_Op op)
{
    int rc = MPI_SUCCESS;
    void *buf = NULL;
    MPI_Count total = 0, *displs = malloc((size_t)s->size * sizeof *displs);
    for (int i = 0; displs != NULL && i < s->size; i++) {
        displs[i] = total;
        total += pli_shim_list_is(counts) ? pli_shim_list_at(counts, i) : each;
    }
    void *mem = displs == NULL ? NULL : pli_shim_type_buffer(total, type, &buf);
    rc = mem == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (rc == MPI_SUCCESS && is_nothing(total, type)) {
        free(displs);
        free(mem);
        return MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS) {
        const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
        rc = pli_shim_coll_reduce(s, mine, buf, total, type, op, 0);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_list_is(counts)
                 ? pli_shim_coll_scatterv(s, buf, counts, PLI_SHIM_LIST_WIDE(displs), type, recvbuf,
                                          pli_shim_list_at(counts, s->rank), type, 0)
                 : pli_shim_coll_scatter(s, buf, each, type, recvbuf, each, type, 0);
    }
    free(displs);
    free(mem);
    return rc;
}

int pli_shim_coll_reduce_scatter(struct shim_span *s, const void *sendbuf, void *recvbuf,
                                 struct shim_list counts, MPI_Datatype type, MPI_Op op)
{
    return reduce_scatter(s, sendbuf, recvbuf, counts, 0, type, op);
}

int pli_shim_coll_reduce_scatter_block(struct shim_span *s, const void *sendbuf, void *recvbuf,
                                       MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    return reduce_scatter(s, sendbuf, recvbuf, PLI_SHIM_LIST_NONE, count, type, op);
}

static int scan(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                MPI_Datatype type, MPI_Op op, bool is_exclusive)
{
    struct fold f;
    int rc = open_fold(&f, count, type, op);
    if (rc == MPI_SUCCESS && f.len > 0) {
        f.prefix = is_exclusive ? recvbuf : NULL;
        rc = pli_shim_local_copy(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, f.acc, count, type);
        rc = rc == MPI_SUCCESS ? pli_shim_plan_fold(s, PLI_IMPI_COLL_SCAN, 0, f.len, take, show, &f)
                               : rc;
        rc = rc == MPI_SUCCESS && !is_exclusive ? pli_shim_local_copy(f.acc, recvbuf, count, type)
                                                : rc;
    }
    return close_fold(&f, rc);
}

int pli_shim_coll_scan(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                       MPI_Datatype type, MPI_Op op)
{
    return scan(s, sendbuf, recvbuf, count, type, op, false);
}

int pli_shim_coll_exscan(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                         MPI_Datatype type, MPI_Op op)
{
    return scan(s, sendbuf, recvbuf, count, type, op, true);
}
