// SPDX-License-Identifier: BSD-3-Clause
// Ring allreduce for long vectors: a piece of the vector travels once around and is combined on the
// way, then once more as the result. Every link carries a piece at any time. Needs an operation
// whose order does not matter; the order is still the same in every run.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

static MPI_Count begin_of(const struct pli_coll_args *a, int piece)
{
    return a->recv.count / a->n * piece +
           (piece < a->recv.count % a->n ? piece : a->recv.count % a->n);
}

struct piece {
    void *buf;
    MPI_Count count;
};

static struct piece piece_of(const struct pli_coll_args *a, const void *buf, int i)
{
    int n = a->n;
    int k = ((i % n) + n) % n;
    MPI_Count begin = begin_of(a, k);
    return (struct piece){ pli_blocks_shift(buf, begin * a->recv.type->extent),
                           begin_of(a, k + 1) - begin };
}

void pli_allreduce_ring(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    int before = (me - 1 + n) % n, after = (me + 1) % n;
    struct pli_datatype *type = a->recv.type;
    void *room = pli_sched_room(s, a->recv.count / n + 1, type);
    if (n == 1 && !a->is_in_place) {
        pli_sched_copy(s, a->send.buf, a->recv.count, type, (void *)(uintptr_t)a->recv.buf,
                       a->recv.count, type);
    }
    for (int i = 0; i < n - 1; i++) { // piece me-i leaves, piece me-i-1 comes and is combined
        struct piece out = piece_of(a, i == 0 ? a->send.buf : a->recv.buf, me - i);
        struct piece in = piece_of(a, a->recv.buf, me - i - 1);
        struct piece own = piece_of(a, a->send.buf, me - i - 1);
        pli_sched_recv(s, room, in.count, type, before);
        pli_sched_send(s, out.buf, out.count, type, after);
        if (!a->is_in_place) {
            pli_sched_copy(s, own.buf, own.count, type, in.buf, in.count, type);
        }
        pli_sched_fence(s);
        pli_sched_reduce(s, room, in.buf, in.count, type, a->op);
    }
    for (int i = 0; i < n - 1; i++) { // finished pieces follow
        struct piece out = piece_of(a, a->recv.buf, me + 1 - i);
        struct piece in = piece_of(a, a->recv.buf, me - i);
        int got = pli_sched_recv(s, in.buf, in.count, type, before);
        pli_sched_send(s, out.buf, out.count, type, after);
        pli_sched_wait(s, got);
    }
}
