// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter across MPI jobs. Small blocks of a job travel together, through its head;
// large ones go straight to and from the root.
#include "coll/impi/across_priv.h"

#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "coll/algorithms.h"
#include "coll/hostmap.h"
#include "impi/coll/impi_coll.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/type_pack.h"

#include <stdlib.h>

// What one rank contributes or gets, in the bytes that count between jobs.
static bool is_long(MPI_Count count, const struct pli_datatype *type)
{
    return count * pli_type_external_each(type) >= pli_boot.gateway->xsize;
}

// The blocks of one job's ranks, ascending, as one message of the root's: in a room of their own
// unless they lie side by side anyway.
struct block_set {
    int *ranks, n;
    void *buf;
    bool is_apart;
};

static struct block_set block_set_of(const struct pli_across_play *p, const struct pli_blocks *b,
                                     int rank)
{
    struct block_set l = { .ranks = pli_sched_bytes(p->s, (size_t)p->map->size * sizeof *l.ranks) };
    for (int i = 0; pli_sched_ok(p->s) && i < p->map->size; i++) {
        if (p->h->host_of[i] == p->h->host_of[rank]) {
            l.ranks[l.n++] = i;
        }
    }
    if (l.n > 0) {
        l.is_apart = l.ranks[l.n - 1] - l.ranks[0] != l.n - 1;
        l.buf = l.is_apart ? pli_sched_room(p->s, l.n * b->count, b->type)
                           : pli_blocks_at(b, l.ranks[0]).buf;
    }
    return l;
}

static void copy_block_set(struct pli_sched *s, const struct pli_blocks *b,
                           const struct block_set *l, bool is_out)
{
    for (int i = 0; l->is_apart && i < l->n; i++) {
        struct pli_block k = pli_blocks_at(b, l->ranks[i]);
        void *at = pli_blocks_shift(l->buf, i * b->count * b->type->extent);
        pli_sched_copy(s, is_out ? k.buf : at, k.count, k.type, is_out ? at : k.buf, k.count,
                       k.type);
    }
}

// The root takes what its own job has, straight into place.
static void gather_own(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    const struct pli_hostmap *h = p->h;
    pli_across_local(p);
    for (int i = 0; i < h->n_member; i++) {
        struct pli_block to = pli_blocks_at(&a->recv, h->members[i]);
        if (i != pli_hostmap_index(h, a->comm->rank)) {
            pli_sched_recv(p->s, to.buf, to.count, to.type, i);
        } else if (!a->is_in_place) {
            pli_sched_copy(p->s, a->send.buf, a->send.count, a->send.type, to.buf, to.count,
                           to.type);
        }
    }
}

static void scatter_own(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    const struct pli_hostmap *h = p->h;
    void *mine = (void *)(uintptr_t)a->recv.buf;
    pli_across_local(p);
    for (int i = 0; i < h->n_member; i++) {
        struct pli_block from = pli_blocks_at(&a->send, h->members[i]);
        if (i != pli_hostmap_index(h, a->comm->rank)) {
            pli_sched_send(p->s, from.buf, from.count, from.type, i);
        } else if (!a->is_in_place) {
            pli_sched_copy(p->s, from.buf, from.count, from.type, mine, a->recv.count,
                           a->recv.type);
        }
    }
}

static bool is_with_root(const struct pli_across_play *p)
{
    return p->h->host_of[p->root] == p->h->my_host;
}

static void gather_root(const struct pli_across_play *p, enum pli_impi_coll_op op)
{
    const struct pli_blocks *b = &p->a->recv;
    gather_own(p);
    struct pli_impi_coll_plan *plan = pli_across_plan(p, op);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        int from = plan->step[i].rank;
        if (!plan->step[i].is_block) {
            struct pli_block to = pli_blocks_at(b, from);
            pli_sched_recv(p->s, to.buf, to.count, to.type, from);
            continue;
        }
        struct block_set l = block_set_of(p, b, from);
        pli_sched_wait(p->s, pli_sched_recv(p->s, l.buf, l.n * b->count, b->type, from));
        copy_block_set(p->s, b, &l, false);
    }
    free(plan);
}

void pli_across_gather(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    bool is_root = a->comm->rank == p->root, is_v = a->kind == PLI_COLL_GATHERV;
    bool is_direct = is_v || (is_root ? is_long(a->recv.count, a->recv.type)
                                      : is_long(a->send.count, a->send.type));
    enum pli_impi_coll_op op = is_v        ? PLI_IMPI_COLL_GATHERV
                               : is_direct ? PLI_IMPI_COLL_GATHER_LONG
                                           : PLI_IMPI_COLL_GATHER;
    if (is_root) {
        gather_root(p, op);
        return;
    }
    if (is_with_root(p)) {
        pli_across_local(p);
        pli_sched_send(p->s, a->send.buf, a->send.count, a->send.type, p->head_at);
        return;
    }
    const void *buf = a->send.buf;
    int n = 1;
    if (!is_direct) {
        struct pli_coll_args local = pli_across_args(p);
        n = p->h->n_member;
        local.is_in_place = false;
        local.recv = (struct pli_blocks){ .count = a->send.count, .type = a->send.type };
        local.recv.buf = p->is_head ? pli_sched_room(p->s, n * a->send.count, a->send.type) : NULL;
        pli_across_local(p);
        pli_gather_linear(p->s, &local);
        pli_sched_fence(p->s);
        buf = local.recv.buf;
    }
    struct pli_impi_coll_plan *plan = pli_across_plan(p, op);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        pli_sched_send(p->s, buf, n * a->send.count, a->send.type, plan->step[i].rank);
    }
    free(plan);
}

static void scatter_root(const struct pli_across_play *p, enum pli_impi_coll_op op)
{
    const struct pli_blocks *b = &p->a->send;
    struct pli_impi_coll_plan *plan = pli_across_plan(p, op);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        int to = plan->step[i].rank;
        if (plan->step[i].is_block) {
            struct block_set l = block_set_of(p, b, to);
            copy_block_set(p->s, b, &l, true);
            pli_sched_send(p->s, l.buf, l.n * b->count, b->type, to);
        } else {
            struct pli_block from = pli_blocks_at(b, to);
            pli_sched_send(p->s, from.buf, from.count, from.type, to);
        }
    }
    free(plan);
    scatter_own(p);
}

void pli_across_scatter(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    bool is_root = a->comm->rank == p->root, is_v = a->kind == PLI_COLL_SCATTERV;
    bool is_direct = is_v || (is_root ? is_long(a->send.count, a->send.type)
                                      : is_long(a->recv.count, a->recv.type));
    enum pli_impi_coll_op op = is_v        ? PLI_IMPI_COLL_SCATTERV
                               : is_direct ? PLI_IMPI_COLL_SCATTER_LONG
                                           : PLI_IMPI_COLL_SCATTER;
    void *mine = (void *)(uintptr_t)a->recv.buf;
    if (is_root) {
        scatter_root(p, op);
        return;
    }
    if (is_with_root(p)) {
        pli_across_local(p);
        pli_sched_recv(p->s, mine, a->recv.count, a->recv.type, p->head_at);
        return;
    }
    struct pli_coll_args local = pli_across_args(p);
    int n = is_direct ? 1 : p->h->n_member;
    void *buf = is_direct    ? mine
                : p->is_head ? pli_sched_room(p->s, n * a->recv.count, a->recv.type)
                             : NULL;
    struct pli_impi_coll_plan *plan = pli_across_plan(p, op);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        pli_sched_wait(
            p->s, pli_sched_recv(p->s, buf, n * a->recv.count, a->recv.type, plan->step[i].rank));
    }
    free(plan);
    if (!is_direct) {
        local.is_in_place = false;
        local.send =
            (struct pli_blocks){ .buf = buf, .count = a->recv.count, .type = a->recv.type };
        pli_across_local(p);
        pli_scatter_linear(p->s, &local);
    }
}
