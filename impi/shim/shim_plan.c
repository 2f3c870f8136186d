// SPDX-License-Identifier: BSD-3-Clause
// Collectives on communicators that span clients, on bytes of external32: the local phases are the
// native library's, the global ones are run from the plans of coll/impi_coll.h.
#include "shim/shim.h"
#include "shim/shim_plan.h"
#include "shim/shim_parts.h"
#include "shim/shim_local.h"
#include "shim/shim_req.h"
#include "shim/shim_task.h"
#include "wire/impi_byte.h"
#include <stdlib.h>
#include <string.h>

struct plan_run {
    struct shim_span *s;
    uint64_t cid;
    int tag, native_tag;
    struct shim_req **sends;
    MPI_Request *native;
    int n_send, n_native;
};

// What a step sends or where it puts what it receives.
struct block {
    unsigned char *data;
    size_t len;
};

static int wait_local(MPI_Request *req, int rc)
{
    return rc == MPI_SUCCESS ? pli_shim_req_wait_native(req, MPI_STATUS_IGNORE) : rc;
}

// The head of this process's client.
static int my_head(const struct shim_span *s, int root)
{
    return pli_impi_map_head(s->map, root, s->rank);
}

static int send_step(struct plan_run *p, int to, struct block b)
{
    struct shim_span *s = p->s;
    if (s->native[to] >= 0) {
        int rc = pli_shim_local_isend(s->local, s->native[to], p->native_tag, b.data,
                                      (MPI_Count)b.len, MPI_BYTE, &p->native[p->n_native]);
        p->n_native += rc == MPI_SUCCESS;
        return rc;
    }
    unsigned char *copy = pli_shim_link_room(b.len + 1);
    struct shim_req *r = copy == NULL ? NULL : pli_shim_req_create(SHIM_SEND, s);
    if (r == NULL) {
        pli_shim_link_release(copy);
        return MPI_ERR_NO_MEM;
    }
    if (b.len > 0) {
        memcpy(copy, b.data, b.len);
    }
    r->cid = p->cid;
    r->peer = to;
    r->tag = p->tag;
    p->sends[p->n_send++] = r;
    return pli_shim_msg_send(r, copy, b.len);
}

static int recv_step(struct plan_run *p, int from, struct block b)
{
    struct shim_span *s = p->s;
    if (s->native[from] >= 0) {
        MPI_Request req;
        return wait_local(&req, pli_shim_local_irecv(s->local, s->native[from], p->native_tag,
                                                     b.data, (MPI_Count)b.len, MPI_BYTE, &req));
    }
    struct shim_req *r = pli_shim_req_create(SHIM_RECV, s);
    if (r == NULL) {
        return MPI_ERR_NO_MEM;
    }
    r->cid = p->cid;
    r->peer = from;
    r->tag = p->tag;
    r->buf = b.data;
    r->cap = b.len;
    r->type = MPI_DATATYPE_NULL;
    pli_shim_msg_post(r);
    int rc = pli_shim_req_wait(r);
    if (rc == MPI_SUCCESS && r->msglen != b.len) {
        rc = pli_shim_fail(MPI_ERR_TRUNCATE,
                           "another MPI's part of a collective has another length than ours");
        pli_shim.other_length = rc;
    }
    pli_shim_req_destroy(r);
    return rc;
}

// tag: the protocol's; an operation that may overlap others has its own.
static struct plan_run new_run(struct shim_span *s, int tag)
{
    return (struct plan_run){ .s = s,
                              .cid = s->cid + 1,
                              .tag = pli_shim_task_tag(tag),
                              .native_tag = pli_shim_task_native_tag(tag) };
}

static int begin_run(struct plan_run *p, struct shim_span *s, enum pli_impi_coll_op op, int root,
                     struct pli_impi_coll_plan **plan)
{
    if (pli_impi_coll_make(s->map, op, s->rank, root, pli_shim.job->coll_maxlinear, plan) !=
        PLI_IMPI_OK) {
        return MPI_ERR_NO_MEM;
    }
    size_t n = (size_t)(*plan)->n_step + 1;
    *p = new_run(s, (*plan)->tag);
    p->sends = malloc(n * sizeof *p->sends);
    p->native = malloc(n * sizeof *p->native);
    if (p->sends == NULL || p->native == NULL) {
        free(p->sends);
        free(p->native);
        free(*plan);
        return MPI_ERR_NO_MEM;
    }
    return MPI_SUCCESS;
}

static int end_run(struct plan_run *p, int rc)
{
    for (int i = 0; i < p->n_send; i++) {
        int its = pli_shim_req_wait(p->sends[i]);
        rc = rc == MPI_SUCCESS ? its : rc;
        (void)pli_shim_msg_unpost(p->sends[i]);
        pli_shim_req_destroy(p->sends[i]);
    }
    for (int i = 0; i < p->n_native; i++) {
        int its = pli_shim_req_wait_native(&p->native[i], MPI_STATUS_IGNORE);
        rc = rc == MPI_SUCCESS ? its : rc;
    }
    free(p->sends);
    free(p->native);
    return rc;
}

typedef struct block (*block_fn)(void *arg, const struct pli_impi_coll_step *step);

// Plans without folding.
static int move(struct shim_span *s, enum pli_impi_coll_op op, int root, block_fn block, void *arg)
{
    struct pli_impi_coll_plan *plan;
    struct plan_run p;
    int rc = begin_run(&p, s, op, root, &plan);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    for (int i = 0; i < plan->n_step && rc == MPI_SUCCESS; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        rc = t->kind == PLI_IMPI_STEP_SEND ? send_step(&p, t->rank, block(arg, t))
                                           : recv_step(&p, t->rank, block(arg, t));
    }
    free(plan);
    return end_run(&p, rc);
}

static struct block whole(void *arg, const struct pli_impi_coll_step *step)
{
    (void)step;
    return *(struct block *)arg;
}

int pli_shim_plan_barrier(struct shim_span *s)
{
    struct block none = { NULL, 0 };
    int rc = pli_shim_local_barrier(s->local);
    rc = rc == MPI_SUCCESS ? move(s, PLI_IMPI_COLL_BARRIER, 0, whole, &none) : rc;
    return rc == MPI_SUCCESS ? pli_shim_local_barrier(s->local) : rc;
}

int pli_shim_plan_bcast(struct shim_span *s, int root, void *buf, size_t len)
{
    struct block all = { buf, len };
    int rc = move(s, PLI_IMPI_COLL_BCAST, root, whole, &all);
    return rc == MPI_SUCCESS ? pli_shim_local_bcast(s->local, s->native[my_head(s, root)], buf,
                                                    (MPI_Count)len, MPI_BYTE)
                             : rc;
}

struct parts { // one block for each rank
    struct shim_span *s;
    unsigned char *base;        // parts of equal length, or
    unsigned char *const *part; // anywhere
    size_t len;
    const size_t *lens;
    struct block mine;
};

static struct block part_of(const struct parts *p, int rank)
{
    return p->part != NULL ? (struct block){ p->part[rank], p->lens[rank] }
                           : (struct block){ p->base + (size_t)rank * p->len, p->len };
}

// At the root the part of the other side; elsewhere our own.
static struct block rooted(void *arg, const struct pli_impi_coll_step *step)
{
    struct parts *p = arg;
    return p->base != NULL || p->part != NULL ? part_of(p, step->rank) : p->mine;
}

static bool is_long(size_t len)
{
    return len >= (size_t)pli_shim.job->coll_xsize;
}

// The parts of this client's ranks to or from `head`, one after another in `block`.
static int local_parts(struct shim_span *s, bool is_out, int head, void *mine, size_t len,
                       void *block)
{
    int to = s->native[head];
    MPI_Count n = (MPI_Count)len;
    return is_out ? pli_shim_local_scatter(s->local, to, block, mine, n, MPI_BYTE)
                  : pli_shim_local_gather(s->local, to, mine, block, n, MPI_BYTE);
}

// The blocks of whole clients at the root, each in a piece of `base` of its own.
struct clients {
    struct shim_span *s;
    unsigned char *base;
    size_t len;
    struct block mine;
};

static struct block client_block(void *arg, const struct pli_impi_coll_step *step)
{
    struct clients *c = arg;
    if (c->base == NULL) {
        return c->mine;
    }
    int n = c->s->map->number[step->rank];
    int from = c->s->map->first[n], to = c->s->map->first[n + 1];
    return (struct block){ c->base + (size_t)from * c->len, (size_t)(to - from) * c->len };
}

// Between the order of clients, in which map->local lists ranks, and that of ranks.
static void reorder(const struct shim_span *s, unsigned char *by_client, unsigned char *by_rank,
                    size_t len, bool to_rank)
{
    for (int i = 0; i < s->size && len > 0; i++) {
        unsigned char *c = by_client + (size_t)i * len;
        unsigned char *r = by_rank + (size_t)s->map->local[i] * len;
        memcpy(to_rank ? r : c, to_rank ? c : r, len);
    }
}

// Equal parts between the root, which has all of them, and all ranks. Short ones go in one message
// for each client; long ones go each by itself, and only the root's client has a local phase.
static int equal_parts(struct shim_span *s, bool is_out, int root, unsigned char *mine, size_t len,
                       unsigned char *all)
{
    int head = my_head(s, root), number = s->map->number[s->rank], rc = MPI_SUCCESS;
    size_t n_here = (size_t)pli_impi_map_n_local(s->map, s->rank);
    bool is_root = s->rank == root, has_long = is_long(len);
    bool has_local = !has_long || pli_impi_map_are_local(s->map, s->rank, root);
    unsigned char *tmp = malloc((is_root ? (size_t)s->size : n_here) * len + 1);
    if (tmp == NULL) {
        return MPI_ERR_NO_MEM;
    }
    unsigned char *here = is_root ? tmp + (size_t)s->map->first[number] * len : tmp;
    if (is_out && is_root) {
        reorder(s, tmp, all, len, false);
    } else if (!is_out && has_local) {
        rc = local_parts(s, false, head, mine, len, here);
    }
    if (rc == MPI_SUCCESS && !has_long) {
        struct clients c = { s, is_root ? tmp : NULL, len, { here, n_here * len } };
        rc = move(s, is_out ? PLI_IMPI_COLL_SCATTER : PLI_IMPI_COLL_GATHER, root, client_block, &c);
    }
    if (rc == MPI_SUCCESS && !is_out && is_root) { // long parts then go over what has not come
        reorder(s, tmp, all, len, true);
    }
    if (rc == MPI_SUCCESS && has_long) {
        struct parts p = {
            .s = s, .base = is_root ? all : NULL, .len = len, .mine = { mine, len }
        };
        rc = move(s, is_out ? PLI_IMPI_COLL_SCATTER_LONG : PLI_IMPI_COLL_GATHER_LONG, root, rooted,
                  &p);
    }
    if (rc == MPI_SUCCESS && is_out && has_local) {
        rc = local_parts(s, true, head, mine, len, here);
    }
    free(tmp);
    return rc;
}

int pli_shim_plan_gather(struct shim_span *s, int root, const void *mine, size_t len, void *all)
{
    return equal_parts(s, false, root, (unsigned char *)(uintptr_t)mine, len, all);
}

int pli_shim_plan_scatter(struct shim_span *s, int root, const void *all, size_t len, void *mine)
{
    return equal_parts(s, true, root, mine, len, (unsigned char *)(uintptr_t)all);
}

// Parts of any length, inside the root's client. All are on their way before one is waited for.
static int local_any(struct shim_span *s, bool is_out, int root, const struct parts *p)
{
    struct shim_piece mine = { root, p->mine.data, p->mine.len };
    int n = 0, tag = is_out ? PLI_IMPI_TAG_SCATTERV : PLI_IMPI_TAG_GATHERV;
    if (s->rank != root) {
        return s->native[root] < 0 ? MPI_SUCCESS
                                   : pli_shim_plan_pieces(s, tag, &mine, !is_out, &mine, is_out);
    }
    struct shim_piece *theirs = malloc((size_t)s->size * sizeof *theirs);
    if (theirs == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < s->size; i++) {
        if (i != root && s->native[i] >= 0) {
            theirs[n++] = (struct shim_piece){ i, p->part[i], p->lens[i] };
        }
    }
    if (mine.len > 0) {
        memcpy(is_out ? mine.data : p->part[root], is_out ? p->part[root] : mine.data, mine.len);
    }
    int rc = pli_shim_plan_pieces(s, tag, theirs, is_out ? n : 0, theirs, is_out ? 0 : n);
    free(theirs);
    return rc;
}

int pli_shim_plan_gatherv(struct shim_span *s, int root, const void *mine, size_t len,
                          unsigned char *const *part, const size_t *lens)
{
    struct parts p = {
        .s = s, .part = part, .lens = lens, .mine = { (unsigned char *)(uintptr_t)mine, len }
    };
    int rc = local_any(s, false, root, &p);
    return rc == MPI_SUCCESS ? move(s, PLI_IMPI_COLL_GATHERV, root, rooted, &p) : rc;
}

int pli_shim_plan_scatterv(struct shim_span *s, int root, unsigned char *const *part,
                           const size_t *lens, void *mine, size_t len)
{
    struct parts p = { .s = s, .part = part, .lens = lens, .mine = { mine, len } };
    int rc = move(s, PLI_IMPI_COLL_SCATTERV, root, rooted, &p);
    return rc == MPI_SUCCESS ? local_any(s, true, root, &p) : rc;
}

struct exchange {
    unsigned char *const *out, *const *in;
    const size_t *out_len, *in_len;
};

static struct block exchanged(void *arg, const struct pli_impi_coll_step *step)
{
    const struct exchange *x = arg;
    int r = step->rank;
    return step->kind == PLI_IMPI_STEP_SEND ? (struct block){ x->out[r], x->out_len[r] }
                                            : (struct block){ x->in[r], x->in_len[r] };
}

int pli_shim_plan_alltoall(struct shim_span *s, bool is_v, unsigned char *const *out,
                           const size_t *out_len, unsigned char *const *in, const size_t *in_len)
{
    int tag = pli_shim_task_native_tag(is_v ? PLI_IMPI_TAG_ALLTOALLV : PLI_IMPI_TAG_ALLTOALL);
    int n = 0, rc = MPI_SUCCESS;
    int n_here = pli_impi_map_n_local(s->map, s->rank);
    MPI_Request *req = malloc(2 * (size_t)n_here * sizeof *req);
    if (req == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int k = 0; k < n_here && rc == MPI_SUCCESS; k++) {
        int i = s->rank_of[k];
        if (i == s->rank) {
            memcpy(in[i], out[i], in_len[i] < out_len[i] ? in_len[i] : out_len[i]);
            continue;
        }
        rc = pli_shim_local_irecv(s->local, k, tag, in[i], (MPI_Count)in_len[i], MPI_BYTE, &req[n]);
        n += rc == MPI_SUCCESS;
        if (rc == MPI_SUCCESS) {
            rc = pli_shim_local_isend(s->local, k, tag, out[i], (MPI_Count)out_len[i], MPI_BYTE,
                                      &req[n]);
            n += rc == MPI_SUCCESS;
        }
    }
    struct exchange x = { out, in, out_len, in_len };
    if (rc == MPI_SUCCESS) {
        rc = move(s, is_v ? PLI_IMPI_COLL_ALLTOALLV : PLI_IMPI_COLL_ALLTOALL, 0, exchanged, &x);
    }
    for (int i = 0; i < n; i++) {
        int its = pli_shim_req_wait_native(&req[i], MPI_STATUS_IGNORE);
        rc = rc == MPI_SUCCESS ? its : rc;
    }
    free(req);
    return rc;
}

static int fold_step(struct plan_run *p, const struct pli_impi_coll_step *t, unsigned char *buf,
                     size_t len, pli_shim_fold_fn fold, void *arg)
{
    if (t->rank == p->s->rank) {
        return fold(arg, NULL, len, t->is_first); // our own data
    }
    int rc = recv_step(p, t->rank, (struct block){ buf, len });
    return rc == MPI_SUCCESS ? fold(arg, buf, len, t->is_first) : rc;
}

int pli_shim_plan_fold(struct shim_span *s, enum pli_impi_coll_op op, int root, size_t len,
                       pli_shim_fold_fn fold, pli_shim_show_fn show, void *arg)
{
    struct pli_impi_coll_plan *plan;
    struct plan_run p;
    unsigned char *buf = malloc(len + 1), *out = malloc(len + 1);
    int rc = buf == NULL || out == NULL ? MPI_ERR_NO_MEM : begin_run(&p, s, op, root, &plan);
    if (rc != MPI_SUCCESS) {
        free(buf);
        free(out);
        return rc;
    }
    for (int i = 0; i < plan->n_step && rc == MPI_SUCCESS; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        if (t->kind == PLI_IMPI_STEP_SEND) {
            rc = show(arg, out);
            rc = rc == MPI_SUCCESS ? send_step(&p, t->rank, (struct block){ out, len }) : rc;
        } else {
            rc = fold_step(&p, t, buf, len, fold, arg);
        }
    }
    free(plan);
    rc = end_run(&p, rc);
    free(buf);
    free(out);
    return rc;
}

static int fold_max(void *arg, const unsigned char *in, size_t len, bool is_first)
{
    uint64_t got = pli_impi_byte_get64(in), *max = arg;
    (void)len;
    (void)is_first;
    *max = got > *max ? got : *max;
    return MPI_SUCCESS;
}

static int show_max(void *arg, unsigned char *out)
{
    pli_impi_byte_put64(out, *(uint64_t *)arg);
    return MPI_SUCCESS;
}

int pli_shim_plan_max(struct shim_span *s, uint64_t *max)
{
    uint64_t mine = *max;
    unsigned char wire[8];
    MPI_Request req;
    int rc =
        wait_local(&req, PMPI_Iallreduce(&mine, max, 1, MPI_UINT64_T, MPI_MAX, s->local, &req));
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_fold(s, PLI_IMPI_COLL_REDUCE, 0, sizeof wire, fold_max, show_max, max);
    }
    pli_impi_byte_put64(wire, *max);
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_bcast(s, 0, wire, sizeof wire);
    }
    *max = pli_impi_byte_get64(wire);
    return rc;
}

int pli_shim_plan_cid(struct shim_span *s, unsigned n, uint64_t *cid_out)
{
    uint64_t max = pli_shim_setup_proposal();
    pli_shim_setup_settle(s);
    int rc = pli_shim_plan_max(s, &max);
    return rc == MPI_SUCCESS ? pli_shim_plan_take(max, n, cid_out) : rc;
}

int pli_shim_plan_take(uint64_t max, unsigned n, uint64_t *cid_out)
{
    if (pli_shim_setup_is_made(max)) {
        *cid_out = max;
        return MPI_SUCCESS;
    }
    if (pli_impi_coll_take_cid(&max, n, cid_out) != PLI_IMPI_OK) {
        return pli_shim_fail(MPI_ERR_OTHER, "there are no more context ids");
    }
    pli_shim.max_cid = max > pli_shim.max_cid ? max : pli_shim.max_cid;
    return MPI_SUCCESS;
}

int pli_shim_plan_pieces(struct shim_span *s, int tag, const struct shim_piece *out, int n_out,
                         const struct shim_piece *in, int n_in)
{
    return pli_shim_plan_pieces_on(s, s->cid + 1, tag, out, n_out, in, n_in);
}

int pli_shim_plan_pieces_on(struct shim_span *s, uint64_t cid, int tag,
                            const struct shim_piece *out, int n_out, const struct shim_piece *in,
                            int n_in)
{
    struct plan_run p = new_run(s, tag);
    int rc = MPI_SUCCESS;
    p.cid = cid;
    p.sends = malloc(((size_t)n_out + 1) * sizeof *p.sends);
    p.native = malloc(((size_t)n_out + 1) * sizeof *p.native);
    if (p.sends == NULL || p.native == NULL) {
        return end_run(&p, MPI_ERR_NO_MEM);
    }
    for (int i = 0; i < n_out && rc == MPI_SUCCESS; i++) {
        rc = send_step(&p, out[i].rank, (struct block){ out[i].data, out[i].len });
    }
    for (int i = 0; i < n_in && rc == MPI_SUCCESS; i++) {
        rc = recv_step(&p, in[i].rank, (struct block){ in[i].data, in[i].len });
    }
    return end_run(&p, rc);
}

int pli_shim_plan_exchange(struct shim_span *s, int rank, int tag, const void *out, size_t out_len,
                           void *in, size_t in_len)
{
    struct shim_piece there = { rank, (void *)(uintptr_t)out, out_len };
    struct shim_piece back = { rank, in, in_len };
    return pli_shim_plan_pieces(s, tag, &there, 1, &back, 1);
}

int pli_shim_plan_across(struct shim_span *s, bool is_v, const struct shim_parts *out,
                         const struct shim_parts *in)
{
    int n = s->size;
    struct shim_piece *p = malloc(2 * (size_t)n * sizeof *p);
    if (p == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        int k = (s->rank + i) % n;
        p[i] = (struct shim_piece){ k, out->part[k], out->lens[k] };
        p[n + i] = (struct shim_piece){ k, in->part[k], in->lens[k] };
    }
    int rc = pli_shim_plan_pieces(s, is_v ? PLI_IMPI_TAG_ALLTOALLV : PLI_IMPI_TAG_ALLTOALL, p, n,
                                  p + n, n);
    free(p);
    return rc;
}
