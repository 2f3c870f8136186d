// SPDX-License-Identifier: BSD-3-Clause
// Recursive doubling: in every round two ranks exchange what they have and both combine it in the
// order of ranks, so all have the same bits at the end. Ranks beyond a power of two join a
// neighbour first.
#include "coll/algorithms.h"

#include "coll/algo/doubling.h"
#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

struct work {
    void *acc, *other; // what is known so far, and where the partner's comes in
};

// Exchange with a partner and combine; the lower rank's values are the left operand.
static void exchange(struct pli_sched *s, const struct pli_coll_args *a, struct work *w,
                     int partner)
{
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    pli_sched_recv(s, w->other, count, type, partner);
    pli_sched_send(s, w->acc, count, type, partner);
    pli_sched_fence(s);
    if (partner < a->me) {
        pli_sched_reduce(s, w->other, w->acc, count, type, a->op);
    } else {
        pli_sched_reduce(s, w->acc, w->other, count, type, a->op);
        void *t = w->acc;
        w->acc = w->other;
        w->other = t;
    }
}

void pli_allreduce_doubling(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    void *result = (void *)(uintptr_t)a->recv.buf;
    struct work w = { result, pli_sched_room(s, count, type) };
    struct pli_doubling d = pli_doubling_of(n);
    bool is_paired = pli_doubling_is_paired(d, me);
    if (!a->is_in_place) {
        pli_sched_copy(s, a->send.buf, count, type, result, count, type);
    }
    if (is_paired && me % 2 == 0) {
        pli_sched_send(s, result, count, type, me + 1);
        pli_sched_fence(s);
        pli_sched_recv(s, result, count, type, me + 1);
        return;
    }
    if (is_paired) {
        pli_sched_wait(s, pli_sched_recv(s, w.other, count, type, me - 1));
        pli_sched_reduce(s, w.other, w.acc, count, type, a->op);
    }
    int v = pli_doubling_number(d, me);
    for (int bit = 1; bit < d.full; bit *= 2) {
        exchange(s, a, &w, pli_doubling_rank(d, v ^ bit));
    }
    if (w.acc != result) {
        pli_sched_copy(s, w.acc, count, type, result, count, type);
    }
    if (is_paired) {
        pli_sched_send(s, result, count, type, me - 1);
    }
}
