// SPDX-License-Identifier: BSD-3-Clause
// Allgather around a ring: in every round each rank passes on the block it got last.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

void pli_allgather_ring(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_block mine = pli_blocks_at(&a->recv, me);
    if (!a->is_in_place) {
        pli_sched_copy(s, a->send.buf, a->send.count, a->send.type, mine.buf, mine.count,
                       mine.type);
    }
    for (int i = 0; i < n - 1; i++) {
        struct pli_block out = pli_blocks_at(&a->recv, (me - i + n) % n);
        struct pli_block in = pli_blocks_at(&a->recv, (me - i - 1 + n) % n);
        int got = pli_sched_recv(s, in.buf, in.count, in.type, (me - 1 + n) % n);
        pli_sched_send(s, out.buf, out.count, out.type, (me + 1) % n);
        pli_sched_wait(s, got);
    }
}
