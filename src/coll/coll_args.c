// SPDX-License-Identifier: BSD-3-Clause
// Checks the arguments of collectives: only those that are significant at this rank.
#include "coll/coll_args.h"

#include "coll/neighbors.h"
#include "obj/comm.h"
#include "obj/op.h"

bool pli_coll_args_is_root(const struct pli_coll_args *a)
{
    return a->comm->is_inter ? a->root == MPI_ROOT : a->root == a->me;
}

static enum pli_err bad_type(const char *arg, int i)
{
    return i < 0 ? pli_fail(PLI_ERR_TYPE, "argument %s is not a committed datatype", arg)
                 : pli_fail(PLI_ERR_TYPE, "argument %s[%d] is not a committed datatype", arg, i);
}

static enum pli_err bad_count(const char *arg, int i, MPI_Count n)
{
    return i < 0 ? pli_fail(PLI_ERR_COUNT, "argument %s is %lld; it cannot be negative", arg,
                            (long long)n)
                 : pli_fail(PLI_ERR_COUNT, "argument %s[%d] is %lld; it cannot be negative", arg, i,
                            (long long)n);
}

static enum pli_err bad_buffer(const char *arg, const void *buf)
{
    if (buf == MPI_IN_PLACE) {
        return pli_fail(PLI_ERR_BUFFER, "argument %s cannot be MPI_IN_PLACE here", arg);
    }
    return pli_fail(PLI_ERR_BUFFER, "argument %s is a null pointer, but there is data", arg);
}

// NULL is MPI_BOTTOM, so it can be right only for types that carry addresses.
static bool is_bad_buffer(const void *buf, MPI_Count count, const struct pli_datatype *t)
{
    return buf == MPI_IN_PLACE || (buf == NULL && count > 0 && t->size > 0 && t->obj.value != 0);
}

struct words {
    const char *buf, *count, *counts, *displs, *type, *types;
};

static const struct words send_words = { "sendbuf", "sendcount", "sendcounts",
                                         "sdispls", "sendtype",  "sendtypes" };
static const struct words recv_words = { "recvbuf", "recvcount", "recvcounts",
                                         "rdispls", "recvtype",  "recvtypes" };
static const struct words one_words = { "buffer", "count", "counts", "displs", "datatype", "" };

// All at once, for good counts are looked through in each call.
static bool has_negative(struct pli_ints counts, int n)
{
    const int *narrow = counts.data;
    const int64_t *wide = counts.data;
    int64_t any = 0;
    int any_narrow = 0;
    for (int i = 0; i < n && counts.is_wide; i++) {
        any |= wide[i];
    }
    for (int i = 0; i < n && !counts.is_wide; i++) {
        any_narrow |= narrow[i];
    }
    return any < 0 || any_narrow < 0;
}

static enum pli_err check_counts(const struct pli_blocks *b, int n, const struct words *w)
{
    if (n > 0 && (b->counts.data == NULL || b->displs.data == NULL)) {
        return pli_fail(PLI_ERR_ARG, "argument %s is a null pointer",
                        b->counts.data == NULL ? w->counts : w->displs);
    }
    if (b->types == NULL && b->buf != NULL && b->buf != MPI_IN_PLACE &&
        !has_negative(b->counts, n)) {
        return PLI_OK;
    }
    for (int i = 0; i < n; i++) {
        struct pli_datatype *t = b->type;
        if (b->types != NULL) {
            t = pli_handle_get(b->types[i], PLI_KIND_DATATYPE);
            if (t == NULL || !t->is_committed) {
                return bad_type(w->types, i);
            }
        }
        MPI_Count count = pli_ints_at(b->counts, i);
        if (count < 0) {
            return bad_count(w->counts, i, count);
        }
        if (b->types == NULL && is_bad_buffer(b->buf, count, t)) {
            return bad_buffer(w->buf, b->buf);
        }
    }
    return b->buf == MPI_IN_PLACE ? bad_buffer(w->buf, b->buf) : PLI_OK;
}

// Blocks for n ranks; one block (n == 1) for a contribution.
static enum pli_err check_blocks(const struct pli_blocks *b, enum pli_coll_layout layout, int n,
                                 const struct words *w)
{
    if (layout == PLI_COLL_BY_TYPES && b->types == NULL && n > 0) {
        return pli_fail(PLI_ERR_ARG, "argument %s is a null pointer", w->types);
    }
    if (layout != PLI_COLL_BY_TYPES && b->type == NULL) {
        return bad_type(w->type, -1);
    }
    if (layout != PLI_COLL_ONE) {
        return check_counts(b, n, w);
    }
    if (b->count < 0) {
        return bad_count(w->count, -1, b->count);
    }
    return is_bad_buffer(b->buf, b->count, b->type) ? bad_buffer(w->buf, b->buf) : PLI_OK;
}

static enum pli_err bad_alias(void)
{
    return pli_fail(PLI_ERR_BUFFER, "sendbuf and recvbuf are the same memory; MPI_IN_PLACE as "
                                    "sendbuf says that this is meant");
}

// Whether blocks that begin at the same place overlap: layouts with holes may fit into each other.
static bool is_alias(struct pli_block x, struct pli_block y)
{
    return x.buf == y.buf && x.buf != NULL && x.count * x.type->size > 0 &&
           y.count * y.type->size > 0 &&
           (x.type == y.type || (x.type->is_dense && y.type->is_dense));
}

// Gather and scatter: many blocks at the root, one at the others.
static enum pli_err check_rooted(struct pli_coll_args *a, bool is_gather)
{
    const struct pli_comm *c = a->comm;
    if (c->is_inter && a->root == MPI_PROC_NULL) {
        return PLI_OK;
    }
    struct pli_blocks *many = is_gather ? &a->recv : &a->send;
    struct pli_blocks *one = is_gather ? &a->send : &a->recv;
    const struct words *many_words = is_gather ? &recv_words : &send_words;
    const struct words *one_words_ = is_gather ? &send_words : &recv_words;
    const struct pli_coll_kind_info *k = &pli_coll_kind_info[a->kind];
    bool is_root = pli_coll_args_is_root(a);
    a->is_in_place = is_root && !c->is_inter && one->buf == MPI_IN_PLACE;
    enum pli_err err = PLI_OK;
    if (is_root) {
        err = check_blocks(many, is_gather ? k->recv : k->send, c->n_peer, many_words);
    }
    if (err == PLI_OK && (!is_root || !c->is_inter) && !a->is_in_place) {
        err = check_blocks(one, PLI_COLL_ONE, 1, one_words_);
        if (err == PLI_OK && is_root &&
            is_alias(pli_blocks_one(one), pli_blocks_at(many, c->rank))) {
            err = bad_alias();
        }
    }
    return err;
}

static enum pli_err check_all(struct pli_coll_args *a)
{
    const struct pli_comm *c = a->comm;
    const struct pli_coll_kind_info *k = &pli_coll_kind_info[a->kind];
    a->is_in_place = !c->is_inter && a->send.buf == MPI_IN_PLACE;
    enum pli_err err = check_blocks(&a->recv, k->recv, c->n_peer, &recv_words);
    if (err == PLI_OK && !a->is_in_place) {
        err = check_blocks(&a->send, k->send, c->n_peer, &send_words);
    }
    if (err != PLI_OK || a->is_in_place || c->is_inter) {
        return err;
    }
    bool is_gather = a->kind == PLI_COLL_ALLGATHER || a->kind == PLI_COLL_ALLGATHERV;
    const int places[2] = { 0, c->rank };
    for (int i = 0; i < 2; i++) {
        struct pli_block mine =
            is_gather ? pli_blocks_one(&a->send) : pli_blocks_at(&a->send, places[i]);
        if (is_alias(mine, pli_blocks_at(&a->recv, places[i]))) {
            return bad_alias();
        }
    }
    return PLI_OK;
}

static enum pli_err check_neighbors(struct pli_coll_args *a)
{
    struct pli_neighbors nb;
    enum pli_err err = pli_neighbors_find(a->comm, &nb);
    const struct pli_coll_kind_info *k = &pli_coll_kind_info[a->kind];
    if (err == PLI_OK) {
        err = check_blocks(&a->recv, k->recv, nb.n_in, &recv_words);
    }
    if (err == PLI_OK) {
        err = check_blocks(&a->send, k->send, nb.n_out, &send_words);
    }
    return err;
}

// Operation and type of a reduction of nothing are not held against each other: programs probe so,
// and other MPIs let it pass.
static enum pli_err check_vector(struct pli_coll_args *a)
{
    bool is_empty = a->recv.count == 0;
    if (a->recv.type == NULL) {
        return bad_type("datatype", -1);
    }
    if (a->kind == PLI_COLL_REDUCE_SCATTER) {
        if (a->recv.counts.data == NULL) {
            return pli_fail(PLI_ERR_ARG, "argument recvcounts is a null pointer");
        }
        is_empty = true;
        for (int i = 0; i < a->comm->size; i++) {
            MPI_Count n = pli_ints_at(a->recv.counts, i);
            if (n < 0) {
                return bad_count("recvcounts", i, n);
            }
            is_empty = is_empty && n == 0;
        }
    } else if (a->recv.count < 0) {
        return bad_count(a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK ? "recvcount" : "count", -1,
                         a->recv.count);
    }
    return is_empty ? PLI_OK : pli_op_check(a->op, a->recv.type);
}

static enum pli_err check_reduction(struct pli_coll_args *a)
{
    const struct pli_comm *c = a->comm;
    bool is_rooted = a->kind == PLI_COLL_REDUCE;
    if (c->is_inter && is_rooted && a->root == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = check_vector(a);
    if (err != PLI_OK) {
        return err;
    }
    bool is_root = !is_rooted || pli_coll_args_is_root(a);
    bool has_data = pli_coll_args_total(a) > 0;
    a->is_in_place = is_root && !c->is_inter && a->send.buf == MPI_IN_PLACE;
    if (is_root && is_bad_buffer(a->recv.buf, has_data, a->recv.type)) {
        return bad_buffer("recvbuf", a->recv.buf);
    }
    if (a->is_in_place) {
        a->send.buf = a->recv.buf;
    } else if ((!is_root || !is_rooted || !c->is_inter) &&
               is_bad_buffer(a->send.buf, has_data, a->recv.type)) {
        return bad_buffer("sendbuf", a->send.buf);
    } else if (is_root && has_data && a->send.buf == a->recv.buf && a->send.buf != NULL &&
               !c->is_inter && a->recv.type->size > 0) {
        return bad_alias();
    }
    return PLI_OK;
}

enum pli_err pli_coll_args_check(struct pli_coll_args *a)
{
    a->is_in_place = false;
    a->n = a->comm->size;
    a->me = a->comm->rank;
    switch (a->kind) {
    case PLI_COLL_BARRIER:
        return PLI_OK;
    case PLI_COLL_BCAST:
        return a->comm->is_inter && a->root == MPI_PROC_NULL
                   ? PLI_OK
                   : check_blocks(&a->recv, PLI_COLL_ONE, 1, &one_words);
    case PLI_COLL_GATHER:
    case PLI_COLL_GATHERV:
        return check_rooted(a, true);
    case PLI_COLL_SCATTER:
    case PLI_COLL_SCATTERV:
        return check_rooted(a, false);
    case PLI_COLL_ALLGATHER:
    case PLI_COLL_ALLGATHERV:
    case PLI_COLL_ALLTOALL:
    case PLI_COLL_ALLTOALLV:
    case PLI_COLL_ALLTOALLW:
        return check_all(a);
    case PLI_COLL_NEIGHBOR_ALLGATHER:
    case PLI_COLL_NEIGHBOR_ALLGATHERV:
    case PLI_COLL_NEIGHBOR_ALLTOALL:
    case PLI_COLL_NEIGHBOR_ALLTOALLV:
    case PLI_COLL_NEIGHBOR_ALLTOALLW:
        return check_neighbors(a);
    default:
        if (a->comm->is_inter && (a->kind == PLI_COLL_SCAN || a->kind == PLI_COLL_EXSCAN)) {
            return pli_fail(PLI_ERR_COMM, "%s is not defined on intercommunicators",
                            pli_coll_kind_info[a->kind].name);
        }
        return check_reduction(a);
    }
}

MPI_Count pli_coll_args_total(const struct pli_coll_args *a)
{
    bool is_scattered =
        a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK || a->kind == PLI_COLL_REDUCE_SCATTER;
    return is_scattered ? pli_coll_args_before(a, a->comm->size) : a->recv.count;
}

MPI_Count pli_coll_args_block(const struct pli_coll_args *a, int i)
{
    return a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK ? a->recv.count
                                                    : pli_ints_at(a->recv.counts, i);
}

MPI_Count pli_coll_args_before(const struct pli_coll_args *a, int i)
{
    MPI_Count n = 0;
    if (a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK) {
        return i * a->recv.count;
    }
    for (int k = 0; k < i; k++) {
        n += pli_ints_at(a->recv.counts, k);
    }
    return n;
}

MPI_Count pli_coll_args_bytes(const struct pli_coll_args *a)
{
    MPI_Count n = 0;
    switch (a->kind) {
    case PLI_COLL_GATHER:
        return pli_coll_args_is_root(a) ? a->recv.count * a->recv.type->size
                                        : a->send.count * a->send.type->size;
    case PLI_COLL_SCATTER:
        return pli_coll_args_is_root(a) ? a->send.count * a->send.type->size
                                        : a->recv.count * a->recv.type->size;
    case PLI_COLL_BCAST:
    case PLI_COLL_ALLGATHER:
    case PLI_COLL_ALLTOALL:
        return a->recv.count * a->recv.type->size;
    case PLI_COLL_ALLGATHERV:
        for (int i = 0; i < a->comm->n_peer; i++) {
            n += pli_ints_at(a->recv.counts, i) * a->recv.type->size;
        }
        return n;
    case PLI_COLL_REDUCE:
    case PLI_COLL_ALLREDUCE:
    case PLI_COLL_REDUCE_SCATTER:
    case PLI_COLL_REDUCE_SCATTER_BLOCK:
    case PLI_COLL_SCAN:
    case PLI_COLL_EXSCAN:
        return pli_coll_args_total(a) * a->recv.type->size;
    default:
        return 0; // no rank knows all sizes
    }
}
