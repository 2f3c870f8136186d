// SPDX-License-Identifier: BSD-3-Clause
// The lock of a member's memory: the words that all near members change, and the queue of waiting
// members, which its owner keeps. Holders are known by their ranks in the window, so that the owner
// can release what a process held that died.
#ifndef PLI_ONESIDED_REGION_LOCK_H
#define PLI_ONESIDED_REGION_LOCK_H

#include "base/err.h"
#include "base/lock.h"
#include "onesided/region_wire.h"

#include <stdbool.h>
#include <stddef.h>

// Bytes of a guard with the list of holders behind it, for n members.
size_t pli_region_lock_bytes(int n);

// Try to take it for a member: false, another one holds it, and the owner must be asked.
bool pli_region_lock_try(struct pli_guard *g, int rank, int hold);
// Release it: true, a member waits at the owner, and it is free now: the owner must be told.
bool pli_region_lock_release(struct pli_guard *g, int rank, int hold);

// A member that waits for the lock, and how its wait ended.
struct pli_region_waiter {
    struct pli_region_waiter *next;
    int origin, hold;
    uint32_t tag;
    enum pli_err err;
};

struct pli_region_queue {
    struct pli_lock lock; // of the list; the words change without it
    struct pli_region_waiter *first;
};

// The owner's calls return the members whose wait is over; the caller answers and frees them.
// A member asks, and has heard of n_lost dead holders. It may be its own turn.
struct pli_region_waiter *pli_region_lock_ask(struct pli_region_queue *q, struct pli_guard *g,
                                              struct pli_region_waiter *waiter, uint32_t n_lost);
// The lock may have become free.
struct pli_region_waiter *pli_region_lock_grant(struct pli_region_queue *q, struct pli_guard *g);
// Release what dead members hold, and forget dead ones that wait. Where one did hold it, all that
// wait are told so by PLI_ERR_PROC_FAILED. n: members of the window.
struct pli_region_waiter *pli_region_lock_release_dead(struct pli_region_queue *q,
                                                       struct pli_guard *g, int n,
                                                       bool (*is_dead)(int rank, void *arg),
                                                       void *arg);
void pli_region_lock_clear(struct pli_region_queue *q);

#endif
