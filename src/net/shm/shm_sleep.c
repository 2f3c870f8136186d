// SPDX-License-Identifier: BSD-3-Clause
// Announces to the writers of a mailbox that its reader sleeps, and orders memory between the two.
#include "net/shm/shm_sleep.h"

#include "base/cpu.h"
#include "boot/node.h"
#include "net/shm/shm.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic bool pli_shm_must_fence;
static _Atomic bool is_refused_late; // sleepers were served without a fence before

// Have the kernel make this process pass a barrier whenever another process of the host goes to
// sleep. A filter for system calls may forbid that to this process and not to the others.
PLI_START void pli_shm_sleep_init(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0 ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
        atomic_store(&pli_shm_must_fence, true);
    }
}

void pli_shm_again(const struct pli_node *node)
{
    pli_shm_sleep_init();
    for (uint32_t row = 0; pli_shm_must_fence && row < pli_node_n_used(node); row++) {
        uint32_t n = atomic_load_explicit(&node->rows[row].n_lane, memory_order_acquire);
        for (uint32_t k = 0; k < n && k < PLI_NODE_N_LANE; k++) {
            pli_shm_box(node, row, (int)k);
        }
    }
}

int pli_shm_announce(struct pli_shm *s, enum pli_shm_sleep how)
{
    int wakes = atomic_load_explicit(&s->box->wakes, memory_order_acquire);
    if (atomic_load_explicit(&pli_shm_must_fence, memory_order_relaxed)) {
        atomic_store_explicit(&s->box->needs_fence, 1, memory_order_relaxed);
    }
    atomic_store_explicit(&s->box->asleep, (int)how, memory_order_seq_cst);
    return wakes;
}

// This process alone decides whether it needs the barrier: a mailbox may ask for fences because of
// one of its writers, and the others count on the barrier.
bool pli_shm_order(void)
{
    if (!atomic_load_explicit(&pli_shm_must_fence, memory_order_relaxed) &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
        atomic_store(&is_refused_late, true);
        atomic_store(&pli_shm_must_fence, true);
    }
    atomic_thread_fence(memory_order_seq_cst);
    return !atomic_load_explicit(&is_refused_late, memory_order_relaxed);
}

void pli_shm_retract(struct pli_shm *s)
{
    atomic_store_explicit(&s->box->asleep, 0, memory_order_relaxed);
}
