// SPDX-License-Identifier: BSD-3-Clause
// Binomial broadcast: a rank that has the data sends it on, to the largest subtree first.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

void pli_bcast_binomial(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n;
    int64_t v = (a->me - a->root + n) % n; // seen from the root
    const struct pli_blocks *b = &a->recv;
    int64_t mask = 1;
    while (mask < n && (v & mask) == 0) {
        mask *= 2;
    }
    if (v != 0) {
        int parent = (int)((v - mask + a->root) % n);
        pli_sched_wait(s, pli_sched_recv(s, (void *)(uintptr_t)b->buf, b->count, b->type, parent));
    }
    while ((mask /= 2) > 0) {
        if (v + mask < n) {
            pli_sched_send(s, b->buf, b->count, b->type, (int)((v + mask + a->root) % n));
        }
    }
}
