// SPDX-License-Identifier: BSD-3-Clause
// What threads that share no memory ask each other: heaps, locks and barriers of the owner.
#include "rt.h"
#include "rt_lock.h"
#include "upc_calls.h"

#include "base/err.h"
#include "onesided/region.h"

#include <string.h>

static uint64_t answer_of(const struct rt_ask *q, int me)
{
    struct rt_lock *l = (struct rt_lock *)(pli_rt.seg[me] + q->value % pli_rt.span);
    switch (q->kind) {
    case RT_ASK_ALLOC:
        return pli_rt_alloc_here(0, true, q->value);
    case RT_ASK_FREE:
        return pli_rt_free_here(me, q->value) != NULL;
    case RT_ASK_LOCK:
        if (l->magic != RT_LOCK_MAGIC) {
            pli_rt_die("thread %d locks something that is no lock, or was freed", q->from);
        }
        return pli_rt_lock_try(l, q->from);
    case RT_ASK_UNLOCK:
        return pli_rt_lock_drop(l, q->from) != NULL;
    case RT_TELL_NOTIFY:
        pli_rt_far_notify(q->from, q->value);
        return 0;
    default:
        pli_rt_far_release(q->value);
        return 0;
    }
}

size_t pli_rt_answer(void *arg, int origin, const void *ask, size_t len, void *answer)
{
    struct rt_thread *me = arg;
    struct rt_ask q;
    if (len != sizeof q) {
        return 0;
    }
    memcpy(&q, ask, sizeof q);
    q.from = origin;
    // Another thread of the process may be the one that happens to serve.
    struct rt_thread *was = pli_rt_self;
    pli_rt_self = me;
    uint64_t a = answer_of(&q, me->me);
    pli_rt_self = was;
    memcpy(answer, &a, sizeof a);
    return sizeof a;
}

static void check(enum pli_err err, int to)
{
    if (err != PLI_OK) {
        pli_rt_die("thread %d cannot be reached: %s", to, pli_fail_take(NULL));
    }
}

uint64_t pli_rt_ask(int to, enum rt_ask_kind kind, uint64_t value)
{
    struct rt_ask q = { .kind = (uint32_t)kind, .value = value };
    unsigned char answer[PLI_REGION_ASK];
    size_t len = 0;
    uint64_t a = 0;
    check(pli_region_ask(rt_me()->region, to, &q, sizeof q, answer, &len), to);
    memcpy(&a, answer, len == sizeof a ? sizeof a : 0);
    return a;
}

void pli_rt_tell(int to, enum rt_ask_kind kind, uint64_t value)
{
    struct rt_ask q = { .kind = (uint32_t)kind, .value = value };
    check(pli_region_tell(rt_me()->region, to, &q, sizeof q), to);
}
