// SPDX-License-Identifier: BSD-3-Clause
// Broadcast from the root to every rank: each of them has to run once, where ranks share cores.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

void pli_bcast_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    const struct pli_blocks *b = &a->recv;
    if (a->me != a->root) {
        void *to = (void *)(uintptr_t)b->buf;
        pli_sched_rooted(s, pli_sched_recv(s, to, b->count, b->type, a->root));
        return;
    }
    for (int i = 1; i < a->n; i++) {
        pli_sched_send(s, b->buf, b->count, b->type, (a->root + i) % a->n);
    }
}
