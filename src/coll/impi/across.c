// SPDX-License-Identifier: BSD-3-Clause
// Collectives across MPI jobs: barrier, broadcast, alltoall, and those made of others.
#include "coll/impi/across.h"
#include "coll/impi/across_priv.h"

#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "coll/algorithms.h"
#include "impi/coll/impi_coll.h"
#include "coll/sched.h"
#include "coll/comm_state.h"

#include <stdlib.h>

// root: the rank whose job it speaks for, -1: none.
static struct pli_across_play begin_at(const struct pli_across_play *p,
                                       const struct pli_coll_args *a, int root)
{
    const struct pli_hostmap *h = p->h;
    struct pli_across_play r = *p;
    r.a = a;
    r.root = root >= 0 ? root : 0;
    r.head = root >= 0 && h->host_of[root] == h->my_host ? root : h->leaders[h->my_host];
    r.head_at = 0;
    for (int i = 0; i < h->n_member; i++) {
        r.head_at = h->members[i] == r.head ? i : r.head_at;
    }
    r.is_head = r.head == a->comm->rank;
    return r;
}

struct pli_impi_coll_plan *pli_across_plan(const struct pli_across_play *p, int op)
{
    struct pli_impi_coll_plan *plan = NULL;
    if (pli_impi_coll_make(p->map, (enum pli_impi_coll_op)op, p->a->comm->rank, p->root,
                           pli_boot.gateway->maxlinear, &plan) != PLI_IMPI_OK) {
        pli_sched_no_memory(p->s);
        return NULL;
    }
    pli_sched_return_to(p->s, p->a->comm, p->own != 0 ? p->own : plan->tag);
    pli_sched_among(p->s, NULL);
    return plan;
}

void pli_across_local(const struct pli_across_play *p)
{
    pli_sched_return_to(p->s, p->a->comm, p->tag);
    pli_sched_among(p->s, p->h->members);
}

struct pli_coll_args pli_across_args(const struct pli_across_play *p)
{
    struct pli_coll_args local = *p->a;
    local.n = p->h->n_member;
    local.me = pli_hostmap_index(p->h, p->a->comm->rank);
    local.root = p->head_at;
    return local;
}

static void barrier(const struct pli_across_play *top)
{
    struct pli_across_play p = begin_at(top, top->a, -1);
    struct pli_coll_args local = pli_across_args(&p);
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    local.send = local.recv = (struct pli_blocks){ .type = byte };
    pli_across_local(&p);
    pli_gather_linear(p.s, &local);
    pli_sched_fence(p.s);
    struct pli_impi_coll_plan *plan = pli_across_plan(&p, PLI_IMPI_COLL_BARRIER);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        if (plan->step[i].kind == PLI_IMPI_STEP_SEND) {
            pli_sched_send(p.s, NULL, 0, byte, plan->step[i].rank);
        } else {
            pli_sched_wait(p.s, pli_sched_recv(p.s, NULL, 0, byte, plan->step[i].rank));
        }
    }
    free(plan);
    pli_across_local(&p);
    pli_bcast_binomial(p.s, &local);
}

// The buffer is a->recv.
static void bcast(const struct pli_across_play *top, const struct pli_coll_args *a)
{
    struct pli_across_play p = begin_at(top, a, a->root);
    void *buf = (void *)(uintptr_t)a->recv.buf;
    struct pli_impi_coll_plan *plan = pli_across_plan(&p, PLI_IMPI_COLL_BCAST);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        if (t->kind == PLI_IMPI_STEP_SEND) {
            pli_sched_send(p.s, buf, a->recv.count, a->recv.type, t->rank);
        } else {
            pli_sched_wait(p.s, pli_sched_recv(p.s, buf, a->recv.count, a->recv.type, t->rank));
        }
    }
    free(plan);
    struct pli_coll_args local = pli_across_args(&p);
    pli_across_local(&p);
    pli_bcast_binomial(p.s, &local);
}

// Where the block for every rank is: in place, a copy of what is going to be overwritten, of the
// same type, since it is to be translated.
static struct pli_block *blocks_out(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_block *out = pli_sched_bytes(s, (size_t)a->n * sizeof *out);
    for (int i = 0; pli_sched_ok(s) && i < a->n; i++) {
        struct pli_block to = pli_blocks_at(&a->recv, i);
        out[i] = a->is_in_place ? to : pli_blocks_at(&a->send, i);
        if (a->is_in_place && i != a->me) {
            out[i].buf = pli_sched_room(s, to.count, to.type);
            pli_sched_copy(s, to.buf, to.count, to.type, out[i].buf, to.count, to.type);
        } else if (!a->is_in_place && i == a->me) {
            pli_sched_copy(s, out[i].buf, out[i].count, out[i].type, to.buf, to.count, to.type);
        }
    }
    return out;
}

static void alltoall(const struct pli_across_play *top)
{
    const struct pli_coll_args *a = top->a;
    struct pli_across_play p = begin_at(top, a, -1);
    struct pli_block *out = blocks_out(p.s, a);
    bool is_v = a->kind != PLI_COLL_ALLTOALL;
    pli_across_local(&p);
    for (int i = 0; pli_sched_ok(p.s) && i < p.h->n_member; i++) {
        int rank = p.h->members[i];
        if (i != pli_hostmap_index(p.h, a->comm->rank)) {
            struct pli_block in = pli_blocks_at(&a->recv, rank);
            pli_sched_recv(p.s, in.buf, in.count, in.type, i);
            pli_sched_send(p.s, out[rank].buf, out[rank].count, out[rank].type, i);
        }
    }
    struct pli_impi_coll_plan *plan =
        pli_across_plan(&p, is_v ? PLI_IMPI_COLL_ALLTOALLV : PLI_IMPI_COLL_ALLTOALL);
    for (int i = 0; plan != NULL && pli_sched_ok(p.s) && i < plan->n_step; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        if (t->kind == PLI_IMPI_STEP_SEND) {
            const struct pli_block *b = &out[t->rank];
            pli_sched_send(p.s, b->buf, b->count, b->type, t->rank);
        } else {
            struct pli_block in = pli_blocks_at(&a->recv, t->rank);
            pli_sched_recv(p.s, in.buf, in.count, in.type, t->rank);
        }
    }
    free(plan);
}

static void allreduce(const struct pli_across_play *top)
{
    struct pli_coll_args a = *top->a;
    a.kind = PLI_COLL_REDUCE;
    a.root = 0;
    a.is_in_place = a.is_in_place && a.me == 0;
    struct pli_across_play p = begin_at(top, &a, 0);
    pli_across_reduce(&p);
    pli_sched_fence(top->s);
    bcast(top, &a);
}

// The blocks of allgatherv lie anywhere: they are broadcast from one place.
static void bcast_blocks(const struct pli_across_play *top, const struct pli_coll_args *a)
{
    struct pli_sched *s = top->s;
    struct pli_datatype *type = a->recv.type;
    MPI_Count total = 0, at = 0;
    for (int i = 0; i < a->n; i++) {
        total += pli_blocks_at(&a->recv, i).count;
    }
    char *all = pli_sched_room(s, total, type);
    struct pli_coll_args b = *a;
    b.recv = (struct pli_blocks){ .buf = all, .count = total, .type = type };
    for (int i = 0; i < a->n && a->me == 0; i++) {
        struct pli_block from = pli_blocks_at(&a->recv, i);
        pli_sched_copy(s, from.buf, from.count, type, pli_blocks_shift(all, at * type->extent),
                       from.count, type);
        at += from.count;
    }
    bcast(top, &b);
    pli_sched_fence(s);
    for (int i = 0; i < a->n && a->me != 0; i++) {
        struct pli_block to = pli_blocks_at(&a->recv, i);
        pli_sched_copy(s, pli_blocks_shift(all, at * type->extent), to.count, type, to.buf,
                       to.count, type);
        at += to.count;
    }
}

static void allgather(const struct pli_across_play *top)
{
    struct pli_coll_args a = *top->a;
    bool is_v = a.kind == PLI_COLL_ALLGATHERV;
    a.kind = is_v ? PLI_COLL_GATHERV : PLI_COLL_GATHER;
    a.root = 0;
    if (a.is_in_place && a.me != 0) {
        struct pli_block mine = pli_blocks_at(&a.recv, a.me);
        a.send = (struct pli_blocks){ .buf = mine.buf, .count = mine.count, .type = mine.type };
        a.is_in_place = false;
    }
    struct pli_across_play p = begin_at(top, &a, 0);
    pli_across_gather(&p);
    pli_sched_fence(top->s);
    if (is_v) {
        bcast_blocks(top, &a);
    } else {
        a.recv.count *= a.n;
        bcast(top, &a);
    }
}

static void reduce_scatter(const struct pli_across_play *top)
{
    const struct pli_coll_args *a = top->a;
    struct pli_datatype *type = a->recv.type;
    MPI_Count total = pli_coll_args_total(a);
    bool is_block = a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK;
    void *all = a->me == 0 ? pli_sched_room(top->s, total, type) : NULL;
    struct pli_coll_args up = *a, down = *a;
    up.kind = PLI_COLL_REDUCE;
    up.root = down.root = 0;
    up.is_in_place = down.is_in_place = false; // the result of rank 0 has a room of its own
    up.recv = (struct pli_blocks){ .buf = all, .count = total, .type = type };
    struct pli_across_play p = begin_at(top, &up, 0);
    pli_across_reduce(&p);
    pli_sched_fence(top->s);
    down.kind = is_block ? PLI_COLL_SCATTER : PLI_COLL_SCATTERV;
    down.send = (struct pli_blocks){ .buf = all, .count = a->recv.count, .type = type };
    down.recv.count = is_block ? a->recv.count : pli_ints_at(a->recv.counts, a->me);
    down.recv.counts = (struct pli_ints){ 0 };
    MPI_Count *displs = is_block ? NULL : pli_sched_bytes(top->s, (size_t)a->n * sizeof *displs);
    if (!is_block && pli_sched_ok(top->s)) {
        displs[0] = 0;
        for (int i = 1; i < a->n; i++) {
            displs[i] = displs[i - 1] + pli_ints_at(a->recv.counts, i - 1);
        }
        down.send.counts = a->recv.counts;
        down.send.displs = (struct pli_ints){ displs, true };
    }
    p = begin_at(top, &down, 0);
    pli_across_scatter(&p);
}

static void exscan(const struct pli_across_play *top)
{
    pli_sched_return_to(top->s, top->a->comm, top->own != 0 ? top->own : PLI_IMPI_TAG_SCAN);
    pli_scan_linear(top->s, top->a);
}

static void build(struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    switch (a->kind) {
    case PLI_COLL_BARRIER:
        barrier(p);
        break;
    case PLI_COLL_BCAST:
        bcast(p, a);
        break;
    case PLI_COLL_GATHER:
    case PLI_COLL_GATHERV:
        *p = begin_at(p, a, a->root);
        pli_across_gather(p);
        break;
    case PLI_COLL_SCATTER:
    case PLI_COLL_SCATTERV:
        *p = begin_at(p, a, a->root);
        pli_across_scatter(p);
        break;
    case PLI_COLL_ALLGATHER:
    case PLI_COLL_ALLGATHERV:
        allgather(p);
        break;
    case PLI_COLL_ALLTOALL:
    case PLI_COLL_ALLTOALLV:
    case PLI_COLL_ALLTOALLW:
        alltoall(p);
        break;
    case PLI_COLL_REDUCE:
        *p = begin_at(p, a, a->root);
        pli_across_reduce(p);
        break;
    case PLI_COLL_ALLREDUCE:
        allreduce(p);
        break;
    case PLI_COLL_REDUCE_SCATTER:
    case PLI_COLL_REDUCE_SCATTER_BLOCK:
        reduce_scatter(p);
        break;
    case PLI_COLL_SCAN:
        pli_across_scan(p);
        break;
    case PLI_COLL_EXSCAN:
        exscan(p);
        break;
    default: // along the edges of a topology
        pli_sched_return_to(p->s, a->comm, p->own);
        pli_neighbor_linear(p->s, a);
        break;
    }
}

static void play(struct pli_sched *s, const struct pli_coll_args *a)
{
    const struct pli_hostmap *h = pli_comm_state_hosts(a->comm);
    const struct pli_impi_map map = {
        .size = a->comm->size, .n_master = h->n_host, .number = h->host_of, .master = h->leaders
    };
    struct pli_across_play p = { .s = s, .a = a, .h = h, .map = &map, .own = pli_sched_own(s) };
    p.tag = p.own != 0 ? p.own : pli_sched_tag(s);
    build(&p);
}

void pli_across_group(struct pli_sched *s, const struct pli_coll_args *a)
{
    play(s, a);
}

void pli_across_now(struct pli_sched *s, const struct pli_coll_args *a)
{
    if (a->kind > PLI_COLL_EXSCAN) { // along a topology: IMPI has no tag for it
        pli_sched_take_own(s, a->comm);
    }
    play(s, a);
}

void pli_across_later(struct pli_sched *s, const struct pli_coll_args *a)
{
    pli_sched_take_own(s, a->comm);
    play(s, a);
}
