// SPDX-License-Identifier: BSD-3-Clause
// Dissemination barrier: after round k each rank knows that the 4^k ranks before it have entered.
// Three messages of a round are under way at once, so that there are half as many rounds as with
// one.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

enum { RADIX = 4 };

void pli_barrier_dissem(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    for (int64_t known = 1; known < n; known *= RADIX) {
        for (int64_t away = known; away < known * RADIX && away < n; away += known) {
            pli_sched_recv(s, NULL, 0, byte, (int)((me - away + n) % n));
            pli_sched_send(s, NULL, 0, byte, (int)((me + away) % n));
        }
        pli_sched_fence(s);
    }
}
