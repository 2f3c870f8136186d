// SPDX-License-Identifier: BSD-3-Clause
// Allreduce for long vectors in few rounds: in every round two ranks exchange halves of what is
// left of the vector, and each combines the half it keeps; then the rounds are gone back, and each
// gives the other what it has finished. As many bytes as around a ring, and far fewer waits. Ranks
// beyond a power of two join a neighbour first. Needs an operation whose order does not matter.
#include "coll/algorithms.h"

#include "coll/algo/doubling.h"
#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

enum { MAX_ROUND = 31 };

struct part {
    MPI_Count begin, count;
};

static void *at(const struct pli_coll_args *a, const void *buf, struct part p)
{
    return pli_blocks_shift(buf, p.begin * a->recv.type->extent);
}

// The half that a rank keeps in a round, and the one that its partner keeps.
static void divide(struct part whole, bool is_lower, struct part *mine, struct part *other)
{
    struct part low = { whole.begin, (whole.count + 1) / 2 };
    struct part high = { whole.begin + low.count, whole.count - low.count };
    *mine = is_lower ? low : high;
    *other = is_lower ? high : low;
}

// This rank's values are in `from`, which is the result's place or, in the first round, the
// sender's buffer: then the partner's values arrive where the result is to be.
static void exchange_half(struct pli_sched *s, const struct pli_coll_args *a, const void *from,
                          void *room, struct part mine, struct part other, int partner)
{
    struct pli_datatype *type = a->recv.type;
    void *result = at(a, a->recv.buf, mine);
    void *to = from == a->recv.buf ? room : result;
    int got = pli_sched_recv(s, to, mine.count, type, partner);
    pli_sched_send(s, at(a, from, other), other.count, type, partner);
    pli_sched_wait(s, got);
    pli_sched_reduce(s, to == room ? room : at(a, from, mine), result, mine.count, type, a->op);
}

// Among the ranks that act, of which this one is number v.
static void halve_and_return(struct pli_sched *s, const struct pli_coll_args *a, const void *from,
                             struct pli_doubling d)
{
    struct pli_datatype *type = a->recv.type;
    int v = pli_doubling_number(d, a->me);
    struct part mine[MAX_ROUND], other[MAX_ROUND];
    int partner[MAX_ROUND];
    int n = 0;
    void *room = pli_sched_room(s, (a->recv.count + 1) / 2, type);
    struct part whole = { 0, a->recv.count };
    for (int bit = 1; bit < d.full; bit *= 2, n++) {
        int u = v ^ bit;
        partner[n] = pli_doubling_rank(d, u);
        divide(whole, u > v, &mine[n], &other[n]);
        exchange_half(s, a, from, room, mine[n], other[n], partner[n]);
        from = a->recv.buf;
        whole = mine[n];
    }
    pli_sched_fence(s); // what was sent is overwritten now
    while (n-- > 0) {
        int got = pli_sched_recv(s, at(a, a->recv.buf, other[n]), other[n].count, type, partner[n]);
        pli_sched_send(s, at(a, a->recv.buf, mine[n]), mine[n].count, type, partner[n]);
        pli_sched_wait(s, got);
    }
}

void pli_allreduce_halving(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    MPI_Count count = a->recv.count;
    struct pli_datatype *type = a->recv.type;
    void *result = (void *)(uintptr_t)a->recv.buf;
    const void *from = a->is_in_place ? result : a->send.buf;
    struct pli_doubling d = pli_doubling_of(n);
    bool is_paired = pli_doubling_is_paired(d, me);
    if (is_paired && me % 2 == 0) {
        pli_sched_send(s, from, count, type, me + 1);
        pli_sched_fence(s);
        pli_sched_recv(s, result, count, type, me + 1);
        return;
    }
    if (is_paired) {
        void *to = a->is_in_place ? pli_sched_room(s, count, type) : result;
        pli_sched_wait(s, pli_sched_recv(s, to, count, type, me - 1));
        pli_sched_reduce(s, a->is_in_place ? to : from, result, count, type, a->op);
        from = result;
    } else if (d.full == 1 && !a->is_in_place) {
        pli_sched_copy(s, from, count, type, result, count, type);
    }
    halve_and_return(s, a, from, d);
    if (is_paired) {
        pli_sched_fence(s);
        pli_sched_send(s, result, count, type, me - 1);
    }
}
