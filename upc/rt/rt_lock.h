// SPDX-License-Identifier: BSD-3-Clause
// A lock in shared memory, as the thread that has it in its segment changes it.
#ifndef PLI_UPC_RT_LOCK_H
#define PLI_UPC_RT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RT_LOCK_MAGIC = 0x4c4f434b };

struct rt_lock {
    _Atomic uint32_t owner;  // thread + 1; 0: free
    _Atomic uint32_t n_wait; // threads that may sleep for it
    uint32_t magic;
    _Atomic uint32_t n_far; // far threads that are queued for it
    uint32_t spare[12];
};
_Static_assert(sizeof(struct rt_lock) == 64, "shared with other processes");

bool pli_rt_lock_try(struct rt_lock *l, int thread);
// Returns what is wrong, or NULL when the lock was released.
const char *pli_rt_lock_drop(struct rt_lock *l, int thread);

// At the thread that has the lock in its segment, for far threads: take it or be queued; tell the
// first in the queue to try. Context: that of pli_region_message_fn.
bool pli_rt_lock_try_or_queue(struct rt_lock *l, int thread);
void pli_rt_lock_tell_next(struct rt_lock *l);

#endif
