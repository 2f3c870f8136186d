// SPDX-License-Identifier: BSD-3-Clause
// Collectives on intercommunicators that span MPI jobs. What happens inside a group is a collective
// of that group, by IMPI's rules if it spans jobs too; between the groups go the messages that
// docs/design/impi.md lists.
#include "coll/impi/across_inter.h"
#include "coll/impi/across.h"

#include "coll/algorithms.h"
#include "impi/coll/impi_coll.h"
#include "coll/sched.h"
#include "obj/comm.h"

// The arguments of an operation of my own group.
static struct pli_coll_args group_args(const struct pli_coll_args *a, enum pli_coll_kind kind)
{
    struct pli_coll_args g = *a;
    g.kind = kind;
    g.comm = a->comm->local;
    g.n = a->comm->size;
    g.me = a->comm->rank;
    g.root = 0;
    g.is_in_place = false;
    return g;
}

static void in_group(struct pli_sched *s, const struct pli_coll_args *g)
{
    pli_sched_fence(s);
    if (pli_sched_own(s) != 0 && g->comm->is_span) {
        pli_sched_return_to(s, g->comm, pli_sched_own(s));
    } else {
        pli_sched_on(s, g->comm);
    }
    if (g->kind == PLI_COLL_REDUCE && g->recv.count * g->recv.type->size == 0) {
        return; // no group sends anything for it
    }
    if (g->comm->is_span) {
        pli_across_group(s, g);
    } else if (g->kind == PLI_COLL_BARRIER) {
        pli_barrier_dissem(s, g);
    } else if (g->kind == PLI_COLL_BCAST) {
        pli_bcast_binomial(s, g);
    } else if (g->kind == PLI_COLL_REDUCE) {
        pli_reduce_binomial(s, g);
    } else if (g->kind == PLI_COLL_GATHER) {
        pli_gather_linear(s, g);
    } else {
        pli_scatter_linear(s, g);
    }
    pli_sched_fence(s);
}

// Messages added from now on go to the other group.
static void across(struct pli_sched *s, const struct pli_coll_args *a, int tag)
{
    pli_sched_among(s, NULL);
    pli_sched_return_to(s, a->comm, pli_sched_own(s) != 0 ? pli_sched_own(s) : tag);
}

// The two ranks 0 exchange a message.
static void swap(struct pli_sched *s, const struct pli_coll_args *a, int tag, struct pli_block out,
                 struct pli_block in)
{
    if (a->comm->rank == 0) {
        across(s, a, tag);
        pli_sched_recv(s, in.buf, in.count, in.type, 0);
        pli_sched_send(s, out.buf, out.count, out.type, 0);
    }
}

static void spread(struct pli_sched *s, const struct pli_coll_args *a, struct pli_block what)
{
    struct pli_coll_args g = group_args(a, PLI_COLL_BCAST);
    g.recv = (struct pli_blocks){ .buf = what.buf, .count = what.count, .type = what.type };
    in_group(s, &g);
}

static void barrier(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_block none = { NULL, 0, pli_datatype_basic(MPI_BYTE) };
    struct pli_coll_args g = group_args(a, PLI_COLL_BARRIER);
    in_group(s, &g);
    swap(s, a, PLI_IMPI_TAG_BARRIER, none, none);
    spread(s, a, none);
}

static void bcast(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_block b = { (void *)(uintptr_t)a->recv.buf, a->recv.count, a->recv.type };
    across(s, a, PLI_IMPI_TAG_BCAST);
    if (a->root == MPI_ROOT) {
        pli_sched_send(s, b.buf, b.count, b.type, 0);
        return;
    }
    if (a->comm->rank == 0) {
        pli_sched_recv(s, b.buf, b.count, b.type, a->root);
    }
    spread(s, a, b);
}

// The sum of my group, at its rank 0.
static struct pli_block sum(struct pli_sched *s, const struct pli_coll_args *a, MPI_Count count)
{
    struct pli_datatype *type = a->recv.type;
    void *all = a->comm->rank == 0 ? pli_sched_room(s, count, type) : NULL;
    struct pli_coll_args g = group_args(a, PLI_COLL_REDUCE);
    g.recv = (struct pli_blocks){ .buf = all, .count = count, .type = type };
    in_group(s, &g);
    return (struct pli_block){ all, count, type };
}

static void reduce(struct pli_sched *s, const struct pli_coll_args *a)
{
    if (a->root == MPI_ROOT) {
        across(s, a, PLI_IMPI_TAG_REDUCE);
        pli_sched_recv(s, (void *)(uintptr_t)a->recv.buf, a->recv.count, a->recv.type, 0);
        return;
    }
    struct pli_block all = sum(s, a, a->recv.count);
    if (a->comm->rank == 0) {
        across(s, a, PLI_IMPI_TAG_REDUCE);
        pli_sched_send(s, all.buf, all.count, all.type, a->root);
    }
}

static void allreduce(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_block result = { (void *)(uintptr_t)a->recv.buf, a->recv.count, a->recv.type };
    struct pli_block mine = sum(s, a, a->recv.count);
    swap(s, a, PLI_IMPI_TAG_REDUCE, mine, result);
    spread(s, a, result);
}

static void reduce_scatter(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_comm *c = a->comm;
    struct pli_datatype *type = a->recv.type;
    bool is_block = a->kind == PLI_COLL_REDUCE_SCATTER_BLOCK;
    struct pli_block mine = sum(s, a, pli_coll_args_total(a)), theirs = mine;
    theirs.buf = c->rank == 0 ? pli_sched_room(s, mine.count, type) : NULL;
    swap(s, a, PLI_IMPI_TAG_REDUCE, mine, theirs);
    struct pli_coll_args g = group_args(a, is_block ? PLI_COLL_SCATTER : PLI_COLL_SCATTERV);
    g.send = (struct pli_blocks){ .buf = theirs.buf, .count = a->recv.count, .type = type };
    MPI_Count *displs = is_block ? NULL : pli_sched_bytes(s, (size_t)c->size * sizeof *displs);
    MPI_Count at = 0;
    for (int i = 0; !is_block && pli_sched_ok(s) && i < c->size; i++) {
        displs[i] = at;
        at += pli_ints_at(a->recv.counts, i);
    }
    if (!is_block) {
        g.send.counts = a->recv.counts;
        g.send.displs = (struct pli_ints){ displs, true };
        g.recv.count = pli_ints_at(a->recv.counts, c->rank);
        g.recv.counts = (struct pli_ints){ 0 };
    }
    if (pli_sched_ok(s)) {
        in_group(s, &g);
    }
}

static void gather(struct pli_sched *s, const struct pli_coll_args *a)
{
    across(s, a, a->kind == PLI_COLL_GATHERV ? PLI_IMPI_TAG_GATHERV : PLI_IMPI_TAG_GATHER);
    pli_inter_rooted(s, a);
}

static void scatter(struct pli_sched *s, const struct pli_coll_args *a)
{
    across(s, a, a->kind == PLI_COLL_SCATTERV ? PLI_IMPI_TAG_SCATTERV : PLI_IMPI_TAG_SCATTER);
    pli_inter_rooted(s, a);
}

// One message of each group holds all of it.
static void allgather(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_coll_args g = group_args(a, PLI_COLL_GATHER);
    struct pli_block out = { NULL, a->send.count * a->comm->size, a->send.type };
    struct pli_block in = { (void *)(uintptr_t)a->recv.buf, a->recv.count * a->comm->n_peer,
                            a->recv.type };
    out.buf = a->comm->rank == 0 ? pli_sched_room(s, out.count, out.type) : NULL;
    g.recv = (struct pli_blocks){ .buf = out.buf, .count = a->send.count, .type = a->send.type };
    in_group(s, &g);
    swap(s, a, PLI_IMPI_TAG_GATHER, out, in);
    spread(s, a, in);
}

// Lengths are known where things arrive: each rank sends to the other group's rank 0.
static void allgatherv(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_datatype *type = a->recv.type;
    struct pli_block all = { NULL, 0, type };
    MPI_Count at = 0;
    for (int i = 0; i < a->comm->n_peer; i++) {
        all.count += pli_blocks_at(&a->recv, i).count;
    }
    all.buf = pli_sched_room(s, all.count, type);
    across(s, a, PLI_IMPI_TAG_GATHERV);
    pli_sched_send(s, a->send.buf, a->send.count, a->send.type, 0);
    for (int i = 0; i < a->comm->n_peer && a->comm->rank == 0; i++) {
        MPI_Count n = pli_blocks_at(&a->recv, i).count;
        pli_sched_recv(s, pli_blocks_shift(all.buf, at * type->extent), n, type, i);
        at += n;
    }
    spread(s, a, all);
    at = 0;
    for (int i = 0; i < a->comm->n_peer; i++) {
        struct pli_block to = pli_blocks_at(&a->recv, i);
        pli_sched_copy(s, pli_blocks_shift(all.buf, at * type->extent), to.count, type, to.buf,
                       to.count, type);
        at += to.count;
    }
}

static void alltoall(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->comm->n_peer, me = a->comm->rank;
    across(s, a, a->kind == PLI_COLL_ALLTOALL ? PLI_IMPI_TAG_ALLTOALL : PLI_IMPI_TAG_ALLTOALLV);
    for (int i = 0; i < n; i++) {
        struct pli_block in = pli_blocks_at(&a->recv, (me + i) % n);
        pli_sched_recv(s, in.buf, in.count, in.type, (me + i) % n);
    }
    for (int i = 0; i < n; i++) {
        struct pli_block out = pli_blocks_at(&a->send, (me + i) % n);
        pli_sched_send(s, out.buf, out.count, out.type, (me + i) % n);
    }
}

void pli_across_inter(struct pli_sched *s, const struct pli_coll_args *a)
{
    static void (*const how[PLI_N_COLL])(struct pli_sched *, const struct pli_coll_args *) = {
        [PLI_COLL_BARRIER] = barrier,
        [PLI_COLL_BCAST] = bcast,
        [PLI_COLL_GATHER] = gather,
        [PLI_COLL_GATHERV] = gather,
        [PLI_COLL_SCATTER] = scatter,
        [PLI_COLL_SCATTERV] = scatter,
        [PLI_COLL_ALLGATHER] = allgather,
        [PLI_COLL_ALLGATHERV] = allgatherv,
        [PLI_COLL_ALLTOALL] = alltoall,
        [PLI_COLL_ALLTOALLV] = alltoall,
        [PLI_COLL_ALLTOALLW] = alltoall,
        [PLI_COLL_REDUCE] = reduce,
        [PLI_COLL_ALLREDUCE] = allreduce,
        [PLI_COLL_REDUCE_SCATTER] = reduce_scatter,
        [PLI_COLL_REDUCE_SCATTER_BLOCK] = reduce_scatter,
    };
    bool is_rooted =
        a->kind == PLI_COLL_REDUCE || (a->kind >= PLI_COLL_BCAST && a->kind <= PLI_COLL_SCATTERV);
    if (how[a->kind] != NULL && !(is_rooted && a->root == MPI_PROC_NULL)) {
        how[a->kind](s, a);
    }
}

void pli_across_inter_later(struct pli_sched *s, const struct pli_coll_args *a)
{
    pli_sched_take_own(s, a->comm);
    pli_across_inter(s, a);
}
