// SPDX-License-Identifier: BSD-3-Clause
// Monotonic time.
#ifndef PLI_BASE_CLOCK_H
#define PLI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t pli_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
