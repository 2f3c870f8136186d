// SPDX-License-Identifier: BSD-3-Clause
// Answers requests of far threads to the owner of a heap, a lock or a barrier.
#include "rt_serve.h"
#include "rt.h"
#include "rt_alloc.h"
#include "rt_ask.h"
#include "rt_barrier.h"
#include "rt_lock.h"

#include "base/log.h"
#include "boot/boot.h"
#include "msg/lane.h"
#include "obj/comm.h"
#include "onesided/region_serve.h"
#include "onesided/region_wire.h"

#include <stdio.h>
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
    case RT_ASK_LOCK_OR_QUEUE:
        if (l->magic != RT_LOCK_MAGIC) {
            pli_rt_die("thread %d locks something that is no lock, or was freed", q->from);
        }
        return pli_rt_lock_try_or_queue(l, q->from);
    case RT_ASK_UNLOCK:
        if (pli_rt_lock_drop(l, q->from) != NULL) {
            return 1;
        }
        pli_rt_lock_tell_next(l);
        return 0;
    case RT_TELL_DROPPED:
        pli_rt_lock_tell_next(l);
        return 0;
    case RT_TELL_TRY:
        atomic_store_explicit(&rt_me()->may_try, true, memory_order_release);
        return 0;
    case RT_TELL_NOTIFY:
        pli_rt_barrier_far_notify(q->from, q->value);
        return 0;
    default:
        pli_rt_barrier_far_release(q->value);
        return 0;
    }
}

void pli_rt_serve(struct pli_region *r, void *arg, int origin, uint32_t tag, const void *ask,
                  size_t len)
{
    struct rt_thread *me = arg;
    struct rt_ask q;
    uint64_t a = 0;
    if (len == sizeof q) {
        memcpy(&q, ask, sizeof q);
        q.from = origin;
        // Another thread of the process may be the one that happens to serve.
        struct rt_thread *was = pli_rt_self;
        pli_rt_self = me;
        a = answer_of(&q, me->me);
        pli_rt_self = was;
    }
    if (tag != 0) {
        pli_region_serve_answer(r, origin, tag, &a, sizeof a);
    }
}

// The access comes from a wrong pointer. Going on would change memory of this process for a mistake
// of that one.
void pli_rt_serve_refused(struct pli_region *r, void *arg, int origin,
                          const struct pli_region_block *b)
{
    const struct rt_thread *me = arg;
    char why[200];
    (void)r;
    snprintf(why, sizeof why,
             "member %d of %s accesses %llu bytes at offset %llu of member %d, which has %llu",
             origin, pli_comm_say(me->comm), (unsigned long long)b->len, (unsigned long long)b->at,
             me->me, (unsigned long long)pli_rt.span);
    pli_log(PLI_ERROR, "%s", why);
    pli_proc.boot->ops->abort(pli_proc.boot, 1, why);
}
