// SPDX-License-Identifier: BSD-3-Clause
// Locks and unlocks a member's memory.
// The word has the rank of an exclusive holder. Of members that share the lock it has the number,
// and the list behind it has a byte for each: the member writes there that it is about to change
// the word, changes it, and writes its new state. A member that dies in between is found by
// counting the others.
#include "onesided/region_lock.h"

#include <sched.h>
#include <stdlib.h>

enum { HOLDER_NONE, HOLDER_CHANGES, HOLDER_SHARES };

size_t pli_region_lock_bytes(int n)
{
    size_t size = sizeof(struct pli_guard);
    return size + ((size_t)n + size - 1) / size * size;
}

static _Atomic uint8_t *holder(struct pli_guard *g, int rank)
{
    return (_Atomic uint8_t *)(g + 1) + rank;
}

// Release order is that of the word, which is changed next or was changed before.
static void set_state(struct pli_guard *g, int rank, uint8_t what)
{
    atomic_store_explicit(holder(g, rank), what, memory_order_release);
}

static bool try_alone(struct pli_guard *g, int rank)
{
    uint32_t was = 0;
    return atomic_compare_exchange_strong_explicit(&g->lock, &was, PLI_GUARD_ALONE | (uint32_t)rank,
                                                   memory_order_acquire, memory_order_relaxed);
}

bool pli_region_lock_try(struct pli_guard *g, int rank, int hold)
{
    if (hold == PLI_HOLD_EXCLUSIVE) {
        return try_alone(g, rank);
    }
    uint32_t was = atomic_load_explicit(&g->lock, memory_order_relaxed);
    bool is_mine = false;
    set_state(g, rank, HOLDER_CHANGES);
    while (!is_mine && (was & (PLI_GUARD_QUEUED | PLI_GUARD_ALONE)) == 0) {
        is_mine = atomic_compare_exchange_weak_explicit(&g->lock, &was, was + 1,
                                                        memory_order_acq_rel, memory_order_relaxed);
    }
    set_state(g, rank, is_mine ? HOLDER_SHARES : HOLDER_NONE);
    return is_mine;
}

bool pli_region_lock_release(struct pli_guard *g, int rank, int hold)
{
    bool is_alone = hold == PLI_HOLD_EXCLUSIVE;
    uint32_t mine = is_alone ? PLI_GUARD_ALONE | (uint32_t)rank : 1;
    if (!is_alone) {
        set_state(g, rank, HOLDER_CHANGES);
    }
    // All accesses are done at the target for whoever looks next, with a lock or without.
    uint32_t was = atomic_fetch_sub_explicit(&g->lock, mine, memory_order_seq_cst);
    if (!is_alone) {
        set_state(g, rank, HOLDER_NONE);
    }
    return was - mine == PLI_GUARD_QUEUED;
}

// Grants the lock when it is free and members wait: no other process changes the word then.
// Context: queue locked.
static struct pli_region_waiter *grant(struct pli_region_queue *q, struct pli_guard *g)
{
    uint32_t word = atomic_load_explicit(&g->lock, memory_order_acquire);
    if (q->first == NULL) {
        atomic_fetch_and_explicit(&g->lock, ~PLI_GUARD_QUEUED, memory_order_acq_rel);
        return NULL;
    }
    if (word != PLI_GUARD_QUEUED) {
        return NULL; // its holder tells when it releases it
    }
    struct pli_region_waiter *granted = q->first, *last = granted;
    if (granted->hold == PLI_HOLD_EXCLUSIVE) {
        word = PLI_GUARD_ALONE | (uint32_t)granted->origin;
    } else {
        set_state(g, last->origin, HOLDER_SHARES);
        for (word = 1; last->next != NULL && last->next->hold == PLI_HOLD_SHARED; word++) {
            last = last->next;
            set_state(g, last->origin, HOLDER_SHARES);
        }
    }
    q->first = last->next;
    last->next = NULL;
    atomic_store_explicit(&g->lock, word | (q->first != NULL ? PLI_GUARD_QUEUED : 0),
                          memory_order_release);
    return granted;
}

struct pli_region_waiter *pli_region_lock_grant(struct pli_region_queue *q, struct pli_guard *g)
{
    pli_lock_take(&q->lock);
    struct pli_region_waiter *granted = grant(q, g);
    pli_lock_drop(&q->lock);
    return granted;
}

static struct pli_region_waiter *append(struct pli_region_queue *q, struct pli_guard *g,
                                        struct pli_region_waiter *waiter)
{
    struct pli_region_waiter **end = &q->first;
    bool is_first = q->first == NULL;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = waiter;
    bool is_free =
        is_first && atomic_fetch_or_explicit(&g->lock, PLI_GUARD_QUEUED, memory_order_acq_rel) == 0;
    return is_free ? grant(q, g) : NULL; // it got free meanwhile
}

struct pli_region_waiter *pli_region_lock_ask(struct pli_region_queue *q, struct pli_guard *g,
                                              struct pli_region_waiter *waiter, uint32_t n_lost)
{
    pli_lock_take(&q->lock);
    struct pli_region_waiter *over = waiter;
    waiter->next = NULL;
    waiter->err = PLI_OK;
    if (atomic_load_explicit(&g->n_lost, memory_order_relaxed) != n_lost) {
        waiter->err = PLI_ERR_PROC_FAILED;
    } else if (q->first != NULL || !pli_region_lock_try(g, waiter->origin, waiter->hold)) {
        over = append(q, g, waiter);
    }
    pli_lock_drop(&q->lock);
    return over;
}

// Counts the living members that share the lock. False: one of them changes the word just now.
static bool count_living(struct pli_guard *g, int n, bool (*is_dead)(int rank, void *arg),
                         void *arg, uint32_t *n_out)
{
    *n_out = 0;
    for (int i = 0; i < n; i++) {
        uint8_t what = atomic_load_explicit(holder(g, i), memory_order_acquire);
        if (what != HOLDER_NONE && !is_dead(i, arg)) {
            if (what == HOLDER_CHANGES) {
                return false;
            }
            (*n_out)++;
        }
    }
    return true;
}

// A dead member that holds the lock.
static uint32_t find_dead(struct pli_guard *g, uint32_t held, int n,
                          bool (*is_dead)(int rank, void *arg), void *arg)
{
    int i = 0;
    if ((held & PLI_GUARD_ALONE) != 0) {
        return held & ~(uint32_t)PLI_GUARD_ALONE;
    }
    while (i < n - 1 && (atomic_load_explicit(holder(g, i), memory_order_relaxed) == HOLDER_NONE ||
                         !is_dead(i, arg))) {
        i++;
    }
    return (uint32_t)i;
}

// The word without the dead; whether one held the lock. PLI_GUARD_QUEUED is set, so no member
// takes the lock meanwhile, but holders may release it.
static bool drop_dead(struct pli_guard *g, int n, bool (*is_dead)(int rank, void *arg), void *arg)
{
    bool is_counted = false;
    for (;;) {
        uint32_t word = atomic_load_explicit(&g->lock, memory_order_acquire), living = 0;
        uint32_t held = word & ~PLI_GUARD_QUEUED;
        if ((held & PLI_GUARD_ALONE) != 0) {
            living = is_dead((int)(held & ~(uint32_t)PLI_GUARD_ALONE), arg) ? 0 : held;
        } else if (!count_living(g, n, is_dead, arg, &living)) {
            sched_yield(); // a few instructions of a living process
            continue;
        }
        if (living == held) {
            return false;
        }
        // The next holder finds the new number.
        atomic_store_explicit(&g->lost, find_dead(g, held, n, is_dead, arg), memory_order_relaxed);
        atomic_fetch_add_explicit(&g->n_lost, is_counted ? 0 : 1, memory_order_relaxed);
        is_counted = true;
        if (atomic_compare_exchange_strong_explicit(&g->lock, &word, PLI_GUARD_QUEUED | living,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            return true;
        }
    }
}

// Removes dead members from the queue, or all; returns the living ones. Context: queue locked.
static struct pli_region_waiter *remove_waiters(struct pli_region_queue *q, bool is_lost,
                                                bool (*is_dead)(int rank, void *arg), void *arg)
{
    struct pli_region_waiter **at = &q->first, *told = NULL, **end = &told;
    while (*at != NULL) {
        struct pli_region_waiter *h = *at;
        bool is_gone = is_dead(h->origin, arg);
        if (!is_gone && !is_lost) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        if (is_gone) {
            free(h);
        } else {
            h->err = PLI_ERR_PROC_FAILED;
            h->next = NULL;
            *end = h;
            end = &h->next;
        }
    }
    return told;
}

struct pli_region_waiter *pli_region_lock_release_dead(struct pli_region_queue *q,
                                                       struct pli_guard *g, int n,
                                                       bool (*is_dead)(int rank, void *arg),
                                                       void *arg)
{
    pli_lock_take(&q->lock);
    atomic_fetch_or_explicit(&g->lock, PLI_GUARD_QUEUED, memory_order_acq_rel);
    bool is_lost = drop_dead(g, n, is_dead, arg);
    for (int i = 0; i < n; i++) {
        if (atomic_load_explicit(holder(g, i), memory_order_relaxed) != HOLDER_NONE &&
            is_dead(i, arg)) {
            set_state(g, i, HOLDER_NONE);
        }
    }
    struct pli_region_waiter *told = remove_waiters(q, is_lost, is_dead, arg), **end = &told;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = grant(q, g);
    pli_lock_drop(&q->lock);
    return told;
}

void pli_region_lock_clear(struct pli_region_queue *q)
{
    while (q->first != NULL) {
        struct pli_region_waiter *h = q->first;
        q->first = h->next;
        free(h);
    }
}
