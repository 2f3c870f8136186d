// SPDX-License-Identifier: BSD-3-Clause
// Binomial reduce. Each rank combines its own values with those of its subtrees, nearest first, so
// that the order of ranks is kept; the tree grows from rank 0 unless order does not matter.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

// The result of the ranks from v on in a tree over v, in a buffer of ours; the last step of the
// root writes into `last` when that is given.
static const void *collect(struct pli_sched *s, const struct pli_coll_args *a, int64_t v, int top,
                           void *last)
{
    int n = a->n;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    int n_child = 0;
    for (int64_t m = 1; m < n && (v & m) == 0 && v + m < n; m *= 2) {
        n_child++;
    }
    void *room[2] = { NULL, NULL };
    const void *acc = a->send.buf;
    for (int i = 0; i < n_child; i++) {
        int k = (n_child - 1 - i) % 2; // the last one into room 0
        if (room[k] == NULL) {
            room[k] = k == 0 && last != NULL ? last : pli_sched_room(s, count, type);
        }
        int64_t child = v + ((int64_t)1 << i);
        int from = (int)((child + top) % n);
        pli_sched_wait(s, pli_sched_recv(s, room[k], count, type, from));
        pli_sched_reduce(s, acc, room[k], count, type, a->op);
        acc = room[k];
    }
    return acc;
}

void pli_reduce_binomial(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    int top = a->op->is_commutative ? a->root : 0;
    int64_t v = (me - top + n) % n;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    // In place a rank's own values must not be overwritten before they are used.
    bool may_end_in_place = me == a->root && v == 0 && !a->is_in_place;
    void *result = (void *)(uintptr_t)a->recv.buf;
    const void *acc = collect(s, a, v, top, may_end_in_place ? result : NULL);
    if (v != 0) {
        int64_t parent = v & (v - 1);
        pli_sched_send(s, acc, count, type, (int)((parent + top) % n));
    } else if (me != a->root) {
        pli_sched_send(s, acc, count, type, a->root);
    } else if (acc != result) {
        pli_sched_copy(s, acc, count, type, result, count, type);
    }
    if (me == a->root && v != 0) {
        pli_sched_fence(s); // what is still being sent may be the result's place
        pli_sched_recv(s, result, count, type, top);
    }
}
