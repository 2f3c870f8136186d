// SPDX-License-Identifier: BSD-3-Clause
// Locks: each is one word in the segment of the thread that made it.
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

#include <string.h>

enum { SPINS = 200 };

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

static void wait_for(struct rt_lock *l, pli_upc_pts p, int me)
{
    for (int i = 0; l != NULL && i < SPINS; i++) {
        if (atomic_load_explicit(&l->owner, memory_order_relaxed) == 0 && pli_rt_lock_try(l, me)) {
            return;
        }
        pli_cpu_relax();
    }
    if (l != NULL) {
        if (atomic_load_explicit(&l->owner, memory_order_relaxed) == (uint32_t)me + 1) {
            pli_rt_die("upc_lock: this thread holds the lock already");
        }
        atomic_fetch_add_explicit(&l->n_wait, 1, memory_order_seq_cst);
    }
    struct pli_waiter w;
    // A thread that cannot make the holder pass a fence is not sure to be woken.
    pli_rt_wait_init(&w, "upc_lock", l == NULL || pli_shm_must_fence);
    while (!try_any(l, p, me)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    if (l != NULL) {
        atomic_fetch_sub_explicit(&l->n_wait, 1, memory_order_relaxed);
    }
}

void pli_upc_lock(pli_upc_pts p)
{
    struct rt_thread *me = rt_me();
    struct rt_lock *l = lock_at("upc_lock", p);
    if (!try_any(l, p, me->me)) {
        wait_for(l, p, me->me);
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
    } else if (pli_rt_ask((int)pli_upc_threadof(p), RT_ASK_UNLOCK, pli_upc_addrfield(p)) != 0) {
        why = "this thread does not hold the lock";
    }
    if (why != NULL) {
        pli_rt_die("upc_unlock: %s", why);
    }
}
