// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter of short vectors as an allreduce by recursive doubling, of which each rank keeps
// its block: few rounds, and the order of ranks. Where only one rank gets a block it is a reduce.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/datatype.h"

// The rank that gets all, -1: there are several.
static int only_taker(const struct pli_coll_args *a, MPI_Count total)
{
    int i = 0;
    while (i < a->n && pli_coll_args_block(a, i) == 0) {
        i++;
    }
    return i < a->n && pli_coll_args_block(a, i) == total ? i : -1;
}

static void reduce_to(struct pli_sched *s, const struct pli_coll_args *a, MPI_Count total, int rank)
{
    struct pli_coll_args to_one = *a;
    to_one.kind = PLI_COLL_REDUCE;
    to_one.root = rank;
    to_one.recv = (struct pli_blocks){ .buf = a->recv.buf, .count = total, .type = a->recv.type };
    pli_reduce_binomial(s, &to_one);
}

void pli_reduce_scatter_doubling(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_datatype *type = a->recv.type;
    MPI_Count total = pli_coll_args_total(a), mine = pli_coll_args_block(a, a->me);
    int taker = only_taker(a, total);
    if (taker >= 0) {
        reduce_to(s, a, total, taker);
        return;
    }
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
