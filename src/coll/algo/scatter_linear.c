// SPDX-License-Identifier: BSD-3-Clause
// Scatter: the root sends its block to each rank.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

void pli_scatter_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    void *mine = (void *)(uintptr_t)a->recv.buf;
    if (!pli_coll_args_is_root(a)) {
        pli_sched_rooted(s, pli_sched_recv(s, mine, a->recv.count, a->recv.type, a->root));
        return;
    }
    for (int i = 0; i < a->n; i++) {
        struct pli_block from = pli_blocks_at(&a->send, i);
        if (i != a->me) {
            pli_sched_send(s, from.buf, from.count, from.type, i);
        } else if (!a->is_in_place) {
            pli_sched_copy(s, from.buf, from.count, from.type, mine, a->recv.count, a->recv.type);
        }
    }
}
