// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan along the ranks: each waits for the one before it. Few messages, one after the
// other.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

void pli_scan_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    bool is_exclusive = a->kind == PLI_COLL_EXSCAN;
    void *result = (void *)(uintptr_t)a->recv.buf;
    void *acc = is_exclusive ? pli_sched_room(s, count, type) : result; // of ranks up to me
    if (is_exclusive || !a->is_in_place) {
        pli_sched_copy(s, a->send.buf, count, type, acc, count, type);
    }
    if (me > 0) {
        void *in = is_exclusive ? result : pli_sched_room(s, count, type);
        pli_sched_wait(s, pli_sched_recv(s, in, count, type, me - 1));
        pli_sched_reduce(s, in, acc, count, type, a->op);
    }
    if (me + 1 < n) {
        pli_sched_send(s, acc, count, type, me + 1);
    }
}
