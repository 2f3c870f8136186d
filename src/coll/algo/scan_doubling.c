// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan by doubling: after round k a rank knows the combination of the 2^k ranks that end
// with it. What comes from before is always the left operand.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

void pli_scan_doubling(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    bool is_exclusive = a->kind == PLI_COLL_EXSCAN;
    void *result = (void *)(uintptr_t)a->recv.buf;
    void *acc = is_exclusive ? pli_sched_room(s, count, type) : result; // of ranks up to me
    void *in = pli_sched_room(s, count, type);
    if (is_exclusive || !a->is_in_place) {
        pli_sched_copy(s, a->send.buf, count, type, acc, count, type);
    }
    for (int64_t away = 1; away < n; away *= 2) {
        if (me >= away) {
            pli_sched_recv(s, in, count, type, (int)(me - away));
        }
        if (me + away < n) {
            pli_sched_send(s, acc, count, type, (int)(me + away));
        }
        pli_sched_fence(s);
        if (me >= away && is_exclusive && away == 1) {
            pli_sched_copy(s, in, count, type, result, count, type);
        } else if (me >= away && is_exclusive) {
            pli_sched_reduce(s, in, result, count, type, a->op);
        }
        if (me >= away) {
            pli_sched_reduce(s, in, acc, count, type, a->op);
        }
    }
}
