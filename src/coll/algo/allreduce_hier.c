// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on several hosts: inside each, over one rank of each host, and inside each again.
#include "coll/algorithms.h"

#include "coll/hier.h"
#include "coll/sched.h"

#include "obj/op.h"

enum { LONG = 32 * 1024 };

void pli_allreduce_hier(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_hier h = pli_hier_make(s, a, -1);
    pli_sched_among(s, h.members);
    pli_reduce_binomial(s, &h.local);
    pli_sched_fence(s);
    if (h.is_leader) {
        h.across.is_in_place = true;
        h.across.send.buf = a->recv.buf;
        pli_sched_among(s, h.leaders);
        if (a->op->is_commutative && pli_coll_args_bytes(a) > LONG) {
            pli_allreduce_ring(s, &h.across);
        } else {
            pli_allreduce_doubling(s, &h.across);
        }
        pli_sched_fence(s);
    }
    pli_sched_among(s, h.members);
    pli_bcast_binomial(s, &h.local);
}
