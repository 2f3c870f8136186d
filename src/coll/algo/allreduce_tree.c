// SPDX-License-Identifier: BSD-3-Clause
// Reduce to rank 0 and broadcast: the plain way.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

void pli_allreduce_tree(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_coll_args up = *a;
    up.root = 0;
    if (a->is_in_place && a->me != 0) {
        up.send.buf = a->recv.buf;
    }
    pli_reduce_binomial(s, &up);
    pli_sched_fence(s);
    pli_bcast_binomial(s, &up);
}
