// SPDX-License-Identifier: BSD-3-Clause
// Reductions across MPI jobs.
#include "coll/impi/across_priv.h"

#include "coll/algorithms.h"
#include "coll/hostmap.h"
#include "impi/coll/impi_coll.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <stdlib.h>

// Inside every job first, then over one rank of each.
static void reduce_free(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    struct pli_datatype *type = a->recv.type;
    MPI_Count count = a->recv.count;
    bool is_root = a->comm->rank == p->root;
    struct pli_coll_args local = pli_across_args(p);
    void *acc = is_root      ? (void *)(uintptr_t)a->recv.buf
                : p->is_head ? pli_sched_room(p->s, count, type)
                             : NULL;
    local.is_in_place = is_root && a->is_in_place;
    local.recv.buf = acc;
    pli_across_local(p);
    pli_reduce_binomial(p->s, &local);
    pli_sched_fence(p->s);
    struct pli_impi_coll_plan *plan = pli_across_plan(p, PLI_IMPI_COLL_REDUCE);
    void *in = NULL;
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        if (t->kind == PLI_IMPI_STEP_SEND) {
            pli_sched_send(p->s, acc, count, type, t->rank);
            continue;
        }
        in = in != NULL ? in : pli_sched_room(p->s, count, type);
        pli_sched_wait(p->s, pli_sched_recv(p->s, in, count, type, t->rank));
        pli_sched_reduce(p->s, in, acc, count, type, a->op);
    }
    free(plan);
}

// Every rank's values, from the last rank to the first, at the root.
static void reduce_ordered(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    struct pli_datatype *type = a->recv.type;
    MPI_Count count = a->recv.count;
    bool is_root = a->comm->rank == p->root;
    void *acc = is_root ? pli_sched_room(p->s, count, type) : NULL;
    void *in = is_root ? pli_sched_room(p->s, count, type) : NULL;
    struct pli_impi_coll_plan *plan = pli_across_plan(p, PLI_IMPI_COLL_REDUCE_ORDERED);
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        if (t->kind == PLI_IMPI_STEP_SEND) {
            pli_sched_send(p->s, a->send.buf, count, type, t->rank);
            continue;
        }
        const void *value = in;
        if (t->rank == a->comm->rank) {
            value = a->send.buf;
        } else {
            pli_sched_wait(p->s, pli_sched_recv(p->s, in, count, type, t->rank));
        }
        if (t->is_first) {
            pli_sched_copy(p->s, value, count, type, acc, count, type);
        } else {
            pli_sched_reduce(p->s, value, acc, count, type, a->op);
        }
    }
    free(plan);
    if (is_root) {
        pli_sched_copy(p->s, acc, count, type, (void *)(uintptr_t)a->recv.buf, count, type);
    }
}

void pli_across_reduce(const struct pli_across_play *p)
{
    if (p->a->op->is_commutative) {
        reduce_free(p);
    } else {
        reduce_ordered(p);
    }
}

void pli_across_scan(const struct pli_across_play *p)
{
    const struct pli_coll_args *a = p->a;
    struct pli_datatype *type = a->recv.type;
    MPI_Count count = a->recv.count;
    void *acc = (void *)(uintptr_t)a->recv.buf;
    struct pli_impi_coll_plan *plan = pli_across_plan(p, PLI_IMPI_COLL_SCAN);
    if (!a->is_in_place) {
        pli_sched_copy(p->s, a->send.buf, count, type, acc, count, type);
    }
    for (int i = 0; plan != NULL && i < plan->n_step; i++) {
        const struct pli_impi_coll_step *t = &plan->step[i];
        if (t->kind == PLI_IMPI_STEP_SEND) {
            pli_sched_send(p->s, acc, count, type, t->rank);
        } else {
            void *in = pli_sched_room(p->s, count, type);
            pli_sched_wait(p->s, pli_sched_recv(p->s, in, count, type, t->rank));
            pli_sched_reduce(p->s, in, acc, count, type, a->op);
        }
    }
    free(plan);
}
