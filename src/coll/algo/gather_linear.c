// SPDX-License-Identifier: BSD-3-Clause
// Gather: each rank sends its block to the root.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

void pli_gather_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    if (!pli_coll_args_is_root(a)) {
        pli_sched_rooted(s, pli_sched_send(s, a->send.buf, a->send.count, a->send.type, a->root));
        return;
    }
    for (int i = 0; i < a->n; i++) {
        struct pli_block to = pli_blocks_at(&a->recv, i);
        if (i != a->me) {
            pli_sched_recv(s, to.buf, to.count, to.type, i);
        } else if (!a->is_in_place) {
            pli_sched_copy(s, a->send.buf, a->send.count, a->send.type, to.buf, to.count, to.type);
        }
    }
}
