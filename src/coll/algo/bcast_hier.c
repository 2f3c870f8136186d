// SPDX-License-Identifier: BSD-3-Clause
// Broadcast on several hosts: over one rank of each host, then inside each. The root is the leader
// of its host.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/hier.h"
#include "coll/sched.h"

enum { LONG = 256 * 1024 };

void pli_bcast_hier(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_hier h = pli_hier_make(s, a, a->root);
    bool is_long = pli_coll_args_bytes(a) > LONG;
    if (h.is_leader) {
        pli_sched_among(s, h.leaders);
        if (is_long) {
            pli_bcast_chain(s, &h.across);
        } else {
            pli_bcast_binomial(s, &h.across);
        }
    }
    pli_sched_among(s, h.members);
    if (is_long && a->me != a->root) {
        pli_sched_fence(s); // a leader sends on what it has got
    }
    pli_bcast_binomial(s, &h.local);
}
