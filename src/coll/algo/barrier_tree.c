// SPDX-License-Identifier: BSD-3-Clause
// Barrier over a binomial tree: two messages per rank in all, however many ranks there are.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/datatype.h"

void pli_barrier_tree(struct pli_sched *s, const struct pli_coll_args *a)
{
    int64_t n = a->n, me = a->me;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    int64_t m = 1;
    for (; m < n && (me & m) == 0; m *= 2) {
        if (me + m < n) {
            pli_sched_recv(s, NULL, 0, byte, (int)(me + m));
        }
    }
    pli_sched_fence(s);
    if (me != 0) {
        int parent = (int)(me & (me - 1));
        pli_sched_send(s, NULL, 0, byte, parent);
        pli_sched_recv(s, NULL, 0, byte, parent);
        pli_sched_fence(s);
    }
    while ((m /= 2) > 0) {
        if (me + m < n) {
            pli_sched_send(s, NULL, 0, byte, (int)(me + m));
        }
    }
}
