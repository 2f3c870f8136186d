// SPDX-License-Identifier: BSD-3-Clause
// The owner of a heap, a lock or a barrier answers what far threads ask.
#include "rt_serve.h"
#include "rt.h"
#include "rt_alloc.h"
#include "rt_ask.h"
#include "rt_barrier.h"
#include "rt_lock.h"

#include <string.h>

static uint64_t answer_of(const struct rt_ask *q, int me)
{
    struct rt_lock *l = (struct rt_lock *)(pli_rt.seg[me] + q->value % pli_rt.span);
    switch (q->kind) {
    case RT_ASK_ALLOC:
        return pli_rt_alloc_take(0, true, q->value);
    case RT_ASK_FREE:
        return pli_rt_alloc_free(me, q->value) != NULL;
    case RT_ASK_LOCK:
        if (l->magic != RT_LOCK_MAGIC) {
            pli_rt_die("thread %d locks something that is no lock, or was freed", q->from);
        }
        return pli_rt_lock_try(l, q->from);
    case RT_ASK_UNLOCK:
        return pli_rt_lock_drop(l, q->from) != NULL;
    case RT_TELL_NOTIFY:
        pli_rt_barrier_far_notify(q->from, q->value);
        return 0;
    default:
        pli_rt_barrier_far_release(q->value);
        return 0;
    }
}

size_t pli_rt_serve(void *arg, int origin, const void *ask, size_t len, void *answer)
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
