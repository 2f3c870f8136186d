// SPDX-License-Identifier: BSD-3-Clause
// Barrier on several hosts: the leader waits for its host, leaders meet, the leader releases its
// host.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/hier.h"
#include "coll/sched.h"

void pli_barrier_hier(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_hier h = pli_hier_make(s, a, -1);
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    h.local.send = h.local.recv = (struct pli_blocks){ .type = byte };
    pli_sched_among(s, h.members);
    pli_gather_linear(s, &h.local);
    pli_sched_fence(s);
    if (h.is_leader) {
        pli_sched_among(s, h.leaders);
        pli_barrier_dissem(s, &h.across);
    }
    pli_sched_among(s, h.members);
    pli_bcast_binomial(s, &h.local);
}
