// SPDX-License-Identifier: BSD-3-Clause
// Locks: each is one word in the segment of the thread that made it. Threads that are far from it
// ask that thread, which queues them while the lock is held and tells them when to try again, so
// that a thread that waits for a far lock sleeps and sends nothing.
#include "rt_lock.h"
#include "rt.h"
#include "rt_alloc.h"
#include "rt_ask.h"
#include "rt_barrier.h"
#include "rt_wait.h"
#include "upc_calls.h"

#include "base/cpu.h"
#include "msg/progress.h"
#include "onesided/region.h"
#include "net/shm/shm_sleep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 200 };

// Far threads that wait for locks of this process, in the order in which they asked.
struct queued {
    struct queued *next;
    const struct rt_lock *lock;
    int thread;
};
static pthread_mutex_t queue_guard = PTHREAD_MUTEX_INITIALIZER;
static struct queued *queue; // guarded by queue_guard

pli_upc_pts pli_upc_global_lock_alloc(void)
{
    pli_upc_pts p = pli_upc_alloc(sizeof(struct rt_lock));
    if (p != 0) {
        struct rt_lock *l = (struct rt_lock *)rt_near(p);
        memset(l, 0, sizeof *l);
        l->magic = RT_LOCK_MAGIC;
    }
    return p;
}

pli_upc_pts pli_upc_all_lock_alloc(void)
{
    pli_upc_pts p = rt_me()->me == 0 ? pli_upc_global_lock_alloc() : 0;
    return pli_rt_alloc_share(p, RT_ALL_LOCK_ALLOC);
}

void pli_upc_lock_free(pli_upc_pts p)
{
    struct rt_lock *l = p != 0 ? (struct rt_lock *)rt_near(p) : NULL;
    if (l != NULL && l->magic != RT_LOCK_MAGIC) {
        pli_rt_die("upc_lock_free: the pointer is not that of a lock, or the lock was freed");
    }
    if (l != NULL) {
        l->magic = 0;
    }
    pli_upc_free(p);
}

void pli_upc_all_lock_free(pli_upc_pts p)
{
    pli_rt_barrier_sync(RT_ALL_LOCK_FREE);
    if (rt_me()->me == 0) {
        pli_upc_lock_free(p);
    }
}

bool pli_rt_lock_try(struct rt_lock *l, int thread)
{
    uint32_t free_word = 0;
    return atomic_compare_exchange_strong_explicit(&l->owner, &free_word, (uint32_t)thread + 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

const char *pli_rt_lock_drop(struct rt_lock *l, int thread)
{
    if (l->magic != RT_LOCK_MAGIC) {
        return NULL; // freed while held: no thread waits for it
    }
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) != (uint32_t)thread + 1) {
        return "this thread does not hold the lock";
    }
    atomic_store_explicit(&l->owner, 0, memory_order_release);
    // A thread that is about to sleep has counted itself and then made this core pass a fence.
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pli_shm_must_fence, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (atomic_load_explicit(&l->n_wait, memory_order_relaxed) != 0) {
        pli_rt_wait_wake_all();
    }
    return NULL;
}

// Take the first that waits for the lock out of the queue; thread -1: whichever. Returns it, or -1.
static int unqueue(struct rt_lock *l, int thread)
{
    int found = -1;
    pthread_mutex_lock(&queue_guard);
    for (struct queued **at = &queue; *at != NULL && found < 0; at = &(*at)->next) {
        struct queued *q = *at;
        if (q->lock == l && (thread < 0 || q->thread == thread)) {
            found = q->thread;
            *at = q->next;
            free(q);
            atomic_fetch_sub_explicit(&l->n_far, 1, memory_order_relaxed);
            break;
        }
    }
    pthread_mutex_unlock(&queue_guard);
    return found;
}

static void enqueue(struct rt_lock *l, int thread)
{
    struct queued *q = malloc(sizeof *q);
    if (q == NULL) {
        pli_rt_die("no memory for the threads that wait for a lock");
    }
    *q = (struct queued){ NULL, l, thread };
    pthread_mutex_lock(&queue_guard);
    struct queued **end = &queue;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = q;
    atomic_fetch_add_explicit(&l->n_far, 1, memory_order_seq_cst);
    pthread_mutex_unlock(&queue_guard);
}

bool pli_rt_lock_try_or_queue(struct rt_lock *l, int thread)
{
    if (pli_rt_lock_try(l, thread)) {
        return true;
    }
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) == (uint32_t)thread + 1) {
        pli_rt_die("upc_lock: thread %d holds the lock already", thread);
    }
    enqueue(l, thread);
    atomic_thread_fence(memory_order_seq_cst);
    // It may have been dropped by a thread that saw no queue.
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) == 0 && unqueue(l, thread) >= 0) {
        if (pli_rt_lock_try(l, thread)) {
            return true;
        }
        enqueue(l, thread); // another was faster, and sees the queue when it drops the lock
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load_explicit(&l->owner, memory_order_relaxed) == 0) {
            pli_rt_lock_tell_next(l);
        }
    }
    return false;
}

void pli_rt_lock_tell_next(struct rt_lock *l)
{
    int thread = unqueue(l, -1);
    if (thread >= 0) {
        pli_rt_ask_tell(thread, RT_TELL_TRY, 0);
    }
}

// The lock, which lies at p and is near, was dropped: a far thread may wait for it.
static void tell_far(struct rt_lock *l, pli_upc_pts p)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&l->n_far, memory_order_relaxed) != 0) {
        pli_rt_ask_tell((int)pli_upc_threadof(p), RT_TELL_DROPPED, pli_upc_addrfield(p));
    }
}

static struct rt_lock *lock_at(const char *call, pli_upc_pts p)
{
    if (p == 0 || pli_upc_threadof(p) >= (size_t)pli_rt.n) {
        pli_rt_die("%s: the pointer is not that of a lock", call);
    }
    struct rt_lock *l = (struct rt_lock *)rt_near(p);
    if (l != NULL && l->magic != RT_LOCK_MAGIC) {
        pli_rt_die("%s: the pointer is not that of a lock, or the lock was freed", call);
    }
    return l;
}

static bool try_any(struct rt_lock *l, pli_upc_pts p, int me)
{
    return l != NULL ? pli_rt_lock_try(l, me)
                     : pli_rt_ask((int)pli_upc_threadof(p), RT_ASK_LOCK, pli_upc_addrfield(p)) != 0;
}

static void wait_near(struct rt_lock *l, int me)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&l->owner, memory_order_relaxed) == 0 && pli_rt_lock_try(l, me)) {
            return;
        }
        pli_cpu_relax();
    }
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) == (uint32_t)me + 1) {
        pli_rt_die("upc_lock: this thread holds the lock already");
    }
    atomic_fetch_add_explicit(&l->n_wait, 1, memory_order_seq_cst);
    struct pli_waiter w;
    // A thread that cannot make the holder pass a fence is not sure to be woken.
    pli_rt_wait_init(&w, "upc_lock", pli_shm_must_fence);
    while (!pli_rt_lock_try(l, me)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    atomic_fetch_sub_explicit(&l->n_wait, 1, memory_order_relaxed);
}

static void lock_far(struct rt_thread *me, pli_upc_pts p)
{
    int at = (int)pli_upc_threadof(p);
    atomic_store_explicit(&me->may_try, false, memory_order_relaxed);
    while (pli_rt_ask(at, RT_ASK_LOCK_OR_QUEUE, pli_upc_addrfield(p)) == 0) {
        struct pli_waiter w;
        pli_rt_wait_init(&w, "upc_lock", false);
        while (!atomic_exchange_explicit(&me->may_try, false, memory_order_acquire)) {
            pli_progress_step(&w);
        }
        pli_progress_end(&w);
    }
}

void pli_upc_lock(pli_upc_pts p)
{
    struct rt_thread *me = rt_me();
    struct rt_lock *l = lock_at("upc_lock", p);
    if (l == NULL) {
        lock_far(me, p);
    } else if (!pli_rt_lock_try(l, me->me)) {
        wait_near(l, me->me);
    }
    atomic_thread_fence(memory_order_seq_cst);
}

int pli_upc_lock_attempt(pli_upc_pts p)
{
    struct rt_thread *me = rt_me();
    struct rt_lock *l = lock_at("upc_lock_attempt", p);
    bool got = try_any(l, p, me->me);
    if (!got) {
        pli_upc_poll_slow(); // programs spin on it
    }
    atomic_thread_fence(memory_order_seq_cst);
    return got;
}

void pli_upc_unlock(pli_upc_pts p)
{
    struct rt_thread *me = rt_me();
    if (me->region != NULL) {
        pli_region_flush_all(me->region);
    }
    atomic_thread_fence(memory_order_seq_cst);
    struct rt_lock *l = lock_at("upc_unlock", p);
    const char *why = NULL;
    if (l != NULL) {
        why = pli_rt_lock_drop(l, me->me);
        if (why == NULL && pli_rt.has_far) {
            tell_far(l, p);
        }
    } else if (pli_rt_ask((int)pli_upc_threadof(p), RT_ASK_UNLOCK, pli_upc_addrfield(p)) != 0) {
        why = "this thread does not hold the lock";
    }
    if (why != NULL) {
        pli_rt_die("upc_unlock: %s", why);
    }
}
