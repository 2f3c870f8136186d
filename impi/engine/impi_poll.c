// SPDX-License-Identifier: BSD-3-Clause
// sched_yield, unless the core is busy: beside a program that computes some kernels charge a whole
// slice for each call.
#include "engine/impi_poll.h"
#include <sched.h>
#include <stdint.h>
#include <time.h>

enum {
    TURN_NS = 3000000, // a call that takes so long: something else computes
    BUSY_NS = 20000000 // then there is no other call for so long
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool pli_impi_poll_give_way(void)
{
    static _Atomic uint64_t busy_until;
    uint64_t begin = now_ns();
    if (begin < busy_until) {
        return false;
    }
    sched_yield();
    uint64_t end = now_ns();
    if (end - begin > TURN_NS) {
        busy_until = end + BUSY_NS;
    }
    return true;
}
