// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter of short vectors as an allreduce by recursive doubling, of which each rank keeps
// its block: few rounds, and the order of ranks.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/datatype.h"

void pli_reduce_scatter_doubling(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_datatype *type = a->recv.type;
    MPI_Count total = pli_coll_args_total(a), mine = pli_coll_args_block(a, a->me);
    void *all = pli_sched_room(s, total, type);
    struct pli_coll_args whole = *a;
    whole.kind = PLI_COLL_ALLREDUCE;
    whole.is_in_place = false;
    whole.recv = (struct pli_blocks){ .buf = all, .count = total, .type = type };
    pli_allreduce_doubling(s, &whole);
    pli_sched_fence(s);
    pli_sched_copy(s, pli_blocks_shift(all, pli_coll_args_before(a, a->me) * type->extent), mine,
                   type, (void *)(uintptr_t)a->recv.buf, mine, type);
}
