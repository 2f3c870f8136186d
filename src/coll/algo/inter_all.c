// SPDX-License-Identifier: BSD-3-Clause
// Operations on an intercommunicator in which every rank gets what the other group has.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

static void barrier(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_comm *c = a->comm;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    struct pli_coll_args local = {
        .kind = PLI_COLL_BARRIER, .n = c->size, .me = c->rank, .comm = c->local
    };
    int tag = pli_sched_tag(s);
    pli_sched_on(s, c->local);
    pli_barrier_dissem(s, &local); // all of mine are here
    if (c->rank == 0) {
        pli_sched_return_to(s, c, tag);
        pli_sched_recv(s, NULL, 0, byte, 0);
        pli_sched_send(s, NULL, 0, byte, 0);
        pli_sched_fence(s);
    }
    pli_sched_on(s, c->local);
    local.recv = (struct pli_blocks){ .type = byte };
    pli_bcast_binomial(s, &local); // all of theirs are
}

// Each rank sends to all ranks of the other group.
static void exchange(struct pli_sched *s, const struct pli_coll_args *a, bool is_gather)
{
    int n = a->comm->n_peer, me = a->comm->rank;
    bool is_sparse = a->kind == PLI_COLL_ALLTOALLV || a->kind == PLI_COLL_ALLTOALLW;
    for (int i = 0; i < n; i++) {
        int from = (me + i) % n;
        struct pli_block in = pli_blocks_at(&a->recv, from);
        if (!is_sparse || pli_blocks_bytes(in) > 0) {
            pli_sched_recv(s, in.buf, in.count, in.type, from);
        }
    }
    for (int i = 0; i < n; i++) {
        int to = (me + i) % n;
        struct pli_block out = is_gather ? pli_blocks_one(&a->send) : pli_blocks_at(&a->send, to);
        if (!is_sparse || pli_blocks_bytes(out) > 0) {
            pli_sched_send(s, out.buf, out.count, out.type, to);
        }
    }
}

// Reduce in each group, exchange the results between the two ranks 0. At rank 0 the returned room
// then holds the other group's result.
static void *swap_sums(struct pli_sched *s, const struct pli_coll_args *a, MPI_Count count)
{
    struct pli_comm *c = a->comm;
    struct pli_datatype *type = a->recv.type;
    void *mine = c->rank == 0 ? pli_sched_room(s, count, type) : NULL;
    void *theirs = c->rank == 0 ? pli_sched_room(s, count, type) : NULL;
    struct pli_coll_args local = *a;
    local.kind = PLI_COLL_REDUCE;
    local.comm = c->local;
    local.n = c->size;
    local.me = c->rank;
    local.root = 0;
    local.recv = (struct pli_blocks){ .buf = mine, .count = count, .type = type };
    int tag = pli_sched_tag(s);
    pli_sched_on(s, c->local);
    pli_reduce_binomial(s, &local);
    pli_sched_fence(s);
    if (c->rank == 0) {
        pli_sched_return_to(s, c, tag);
        pli_sched_recv(s, theirs, count, type, 0);
        pli_sched_send(s, mine, count, type, 0);
        pli_sched_fence(s);
    }
    pli_sched_on(s, c->local);
    return theirs;
}

static void allreduce(struct pli_sched *s, const struct pli_coll_args *a)
{
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    void *theirs = swap_sums(s, a, count);
    struct pli_coll_args local = *a;
    local.comm = a->comm->local;
    local.n = a->comm->size;
    local.me = a->comm->rank;
    local.root = 0;
    if (a->comm->rank == 0) {
        pli_sched_copy(s, theirs, count, type, (void *)(uintptr_t)a->recv.buf, count, type);
    }
    pli_bcast_binomial(s, &local);
}

static void reduce_scatter(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_comm *c = a->comm;
    struct pli_datatype *type = a->recv.type;
    void *theirs = swap_sums(s, a, pli_coll_args_total(a));
    bool is_block = a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK;
    void *mine = (void *)(uintptr_t)a->recv.buf;
    MPI_Count begin = 0;
    for (int i = 0; i < c->size; i++) {
        MPI_Count count = is_block ? a->recv.count : pli_ints_at(a->recv.counts, i);
        void *from = c->rank == 0 ? pli_blocks_shift(theirs, begin * type->extent) : NULL;
        if (i == 0 && c->rank == 0) {
            pli_sched_copy(s, from, count, type, mine, count, type);
        } else if (c->rank == 0) {
            pli_sched_send(s, from, count, type, i);
        } else if (c->rank == i) {
            pli_sched_recv(s, mine, count, type, 0);
        }
        begin += count;
    }
}

void pli_inter_all(struct pli_sched *s, const struct pli_coll_args *a)
{
    switch (a->kind) {
    case PLI_COLL_BARRIER:
        barrier(s, a);
        break;
    case PLI_COLL_ALLGATHER:
    case PLI_COLL_ALLGATHERV:
        exchange(s, a, true);
        break;
    case PLI_COLL_ALLREDUCE:
        allreduce(s, a);
        break;
    case PLI_COLL_REDUCE_SCATTER:
    case PLI_COLL_REDUCE_SCATTER_BLOCK:
        reduce_scatter(s, a);
        break;
    default:
        exchange(s, a, false);
    }
}
