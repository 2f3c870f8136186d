// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in all its forms: everything is begun at once, each rank starting with its neighbour.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include "coll/algo/alltoall_copy.h"

void pli_alltoall_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_blocks send = pli_alltoall_copy(s, a);
    bool is_sparse = a->kind != PLI_COLL_ALLTOALL; // no message where there is no data
    for (int i = 1; i < n; i++) {
        int from = (me - i + n) % n;
        struct pli_block in = pli_blocks_at(&a->recv, from);
        if (!is_sparse || pli_blocks_bytes(in) > 0) {
            pli_sched_recv(s, in.buf, in.count, in.type, from);
        }
    }
    for (int i = 1; i < n; i++) {
        int to = (me + i) % n;
        struct pli_block out = pli_blocks_at(&send, to);
        if (!is_sparse || pli_blocks_bytes(out) > 0) {
            pli_sched_send(s, out.buf, out.count, out.type, to);
        }
    }
}
