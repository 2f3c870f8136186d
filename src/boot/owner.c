// SPDX-License-Identifier: BSD-3-Clause
// The word holds the number of the process that writes, 0: nobody does.
#include "boot/owner.h"

#include "base/cpu.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

void pli_owner_take(_Atomic uint32_t *owner)
{
    uint32_t me = (uint32_t)getpid();
    for (uint32_t n = 1;; n++) {
        uint32_t other = 0;
        if (atomic_compare_exchange_strong_explicit(owner, &other, me, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return;
        }
        if (n % 1024 == 0 && kill((pid_t)other, 0) != 0 && errno == ESRCH) {
            atomic_compare_exchange_strong_explicit(owner, &other, 0, memory_order_relaxed,
                                                    memory_order_relaxed);
        }
        pli_cpu_rest();
    }
}

void pli_owner_drop(_Atomic uint32_t *owner)
{
    atomic_store_explicit(owner, 0, memory_order_release);
}
