// SPDX-License-Identifier: BSD-3-Clause
// Reduce on several hosts: inside each, then over one rank of each host. The root is the leader of
// its host.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/hier.h"
#include "coll/sched.h"

void pli_reduce_hier(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_hier h = pli_hier_make(s, a, a->root);
    void *sum = h.is_leader ? pli_sched_room(s, a->recv.count, a->recv.type) : NULL;
    h.local.is_in_place = false; // the sum of a host has a room of its own
    h.local.recv.buf = sum;
    pli_sched_among(s, h.members);
    pli_reduce_binomial(s, &h.local);
    pli_sched_fence(s);
    if (h.is_leader) {
        h.across.is_in_place = false;
        h.across.send.buf = sum;
        pli_sched_among(s, h.leaders);
        pli_reduce_binomial(s, &h.across);
    }
}
