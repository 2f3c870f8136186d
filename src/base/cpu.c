// SPDX-License-Identifier: BSD-3-Clause
// Gives the processor to other threads, for a while or until woken.
// Giving way. Some kernels charge a whole slice for it: beside a program that computes, a few dozen
// calls in a row cost a second. A thread that sleeps instead is not charged, and runs when it is
// woken.
#include "base/cpu.h"

#include "base/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum {
    TURN_NS = 3000000,  // a call that takes so long: something else computes on this core
    BUSY_NS = 20000000, // then no thread gives way for this long
    REST_NS = 20000
};

static _Atomic uint64_t busy_until;

bool pli_cpu_give_way(void)
{
    uint64_t begin = pli_clock_ns();
    if (begin < atomic_load_explicit(&busy_until, memory_order_relaxed)) {
        return false;
    }
    sched_yield();
    uint64_t end = pli_clock_ns();
    if (end - begin > TURN_NS) {
        atomic_store_explicit(&busy_until, end + BUSY_NS, memory_order_relaxed);
    }
    return true;
}

void pli_cpu_rest(void)
{
    if (!pli_cpu_give_way()) {
        nanosleep(&(struct timespec){ .tv_nsec = REST_NS }, NULL);
    }
}
