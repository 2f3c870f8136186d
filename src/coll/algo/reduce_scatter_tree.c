// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter as a reduce to rank 0 and a scatter: keeps the order of ranks.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

void pli_reduce_scatter_tree(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_datatype *type = a->recv.type;
    MPI_Count total = pli_coll_args_total(a);
    void *all = me == 0 ? pli_sched_room(s, total, type) : NULL;
    struct pli_coll_args up = *a;
    up.kind = PLI_COLL_REDUCE;
    up.root = 0;
    up.is_in_place = false; // the result of rank 0 goes to a room of its own
    up.recv = (struct pli_blocks){ .buf = all, .count = total, .type = type };
    pli_reduce_binomial(s, &up);
    pli_sched_fence(s);
    MPI_Count begin = 0;
    for (int i = 0; i < n; i++) {
        MPI_Count count = pli_coll_args_block(a, i);
        void *from = me == 0 ? pli_blocks_shift(all, begin * type->extent) : NULL;
        void *to = (void *)(uintptr_t)a->recv.buf;
        if (i == 0 && me == 0) {
            pli_sched_copy(s, from, count, type, to, count, type);
        } else if (me == 0) {
            pli_sched_send(s, from, count, type, i);
        } else if (me == i) {
            pli_sched_recv(s, to, count, type, 0);
        }
        begin += count;
    }
}
