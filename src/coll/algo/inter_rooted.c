// SPDX-License-Identifier: BSD-3-Clause
// Rooted operations on an intercommunicator: the root, in one group, faces all ranks of the other.
// Data of a group meets at its rank 0 where that saves messages.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

static void bcast(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_comm *c = a->comm;
    void *buf = (void *)(uintptr_t)a->recv.buf;
    if (a->root == MPI_ROOT) {
        pli_sched_send(s, buf, a->recv.count, a->recv.type, 0);
        return;
    }
    if (c->rank == 0) {
        pli_sched_wait(s, pli_sched_recv(s, buf, a->recv.count, a->recv.type, a->root));
    }
    struct pli_coll_args local = *a;
    local.comm = c->local;
    local.n = c->size;
    local.me = c->rank;
    local.root = 0;
    pli_sched_on(s, c->local);
    pli_bcast_binomial(s, &local);
}

static void reduce(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_comm *c = a->comm;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    if (a->root == MPI_ROOT) {
        pli_sched_recv(s, (void *)(uintptr_t)a->recv.buf, count, type, 0);
        return;
    }
    struct pli_coll_args local = *a;
    void *all = c->rank == 0 ? pli_sched_room(s, count, type) : NULL;
    local.comm = c->local;
    local.n = c->size;
    local.me = c->rank;
    local.root = 0;
    local.recv.buf = all;
    int tag = pli_sched_tag(s);
    pli_sched_on(s, c->local);
    pli_reduce_binomial(s, &local);
    pli_sched_fence(s);
    if (c->rank == 0) {
        pli_sched_return_to(s, c, tag);
        pli_sched_send(s, all, count, type, a->root);
    }
}

static void gather(struct pli_sched *s, const struct pli_coll_args *a)
{
    if (a->root != MPI_ROOT) {
        pli_sched_send(s, a->send.buf, a->send.count, a->send.type, a->root);
        return;
    }
    for (int i = 0; i < a->comm->n_peer; i++) {
        struct pli_block in = pli_blocks_at(&a->recv, i);
        pli_sched_recv(s, in.buf, in.count, in.type, i);
    }
}

static void scatter(struct pli_sched *s, const struct pli_coll_args *a)
{
    if (a->root != MPI_ROOT) {
        pli_sched_recv(s, (void *)(uintptr_t)a->recv.buf, a->recv.count, a->recv.type, a->root);
        return;
    }
    for (int i = 0; i < a->comm->n_peer; i++) {
        struct pli_block out = pli_blocks_at(&a->send, i);
        pli_sched_send(s, out.buf, out.count, out.type, i);
    }
}

void pli_inter_rooted(struct pli_sched *s, const struct pli_coll_args *a)
{
    if (a->root == MPI_PROC_NULL) {
        return;
    }
    switch (a->kind) {
    case PLI_COLL_BCAST:
        bcast(s, a);
        break;
    case PLI_COLL_REDUCE:
        reduce(s, a);
        break;
    case PLI_COLL_GATHER:
    case PLI_COLL_GATHERV:
        gather(s, a);
        break;
    default:
        scatter(s, a);
    }
}
