// SPDX-License-Identifier: BSD-3-Clause
// Binds threads and processes to cores, so that a comparison of the two does not depend on where
// the system puts them. Include it first: its feature macros must precede other headers.
#ifndef PLI_BENCH_BIND_H
#define PLI_BENCH_BIND_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <unistd.h>

// The cores we may use, as they were at the beginning.
static inline const cpu_set_t *b_cores(void)
{
    static cpu_set_t all;
    if (CPU_COUNT(&all) == 0) {
        sched_getaffinity(getpid(), sizeof all, &all);
    }
    return &all;
}

// The calling thread stays on this core, counted among those we may use and around again.
static inline void b_bind(int which)
{
    cpu_set_t one;
    which %= CPU_COUNT(b_cores());
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (CPU_ISSET(c, b_cores()) && which-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(c, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
    }
}

// Rank `me` of n, neighbours together, as launchers place them.
static inline void b_bind_block(int me, int n)
{
    int cores = CPU_COUNT(b_cores());
    b_bind(n <= cores ? me : me * cores / n);
}

#endif
