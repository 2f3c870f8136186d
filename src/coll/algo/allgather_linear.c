// SPDX-License-Identifier: BSD-3-Clause
// Allgather: each rank sends its block to all others, for few ranks. Long blocks are received in
// turn, so that no two ranks copy out of the same memory at once: the kernel counts who uses a page.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

static void receive(struct pli_sched *s, const struct pli_coll_args *a, bool is_in_turn)
{
    int n = a->n, me = a->me;
    for (int i = 1; i < n; i++) {
        int from = (me - i + n) % n;
        struct pli_block in = pli_blocks_at(&a->recv, from);
        int got = pli_sched_recv(s, in.buf, in.count, in.type, from);
        if (is_in_turn) {
            pli_sched_wait(s, got);
        }
    }
}

static void send(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_block mine = pli_blocks_at(&a->recv, me);
    if (!a->is_in_place) {
        pli_sched_copy(s, a->send.buf, a->send.count, a->send.type, mine.buf, mine.count,
                       mine.type);
    }
    for (int i = 1; i < n; i++) {
        pli_sched_send(s, mine.buf, mine.count, mine.type, (me + i) % n);
    }
}

void pli_allgather_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    receive(s, a, false);
    send(s, a);
}

void pli_allgather_turns(struct pli_sched *s, const struct pli_coll_args *a)
{
    send(s, a);
    receive(s, a, true);
}
