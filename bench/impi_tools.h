// SPDX-License-Identifier: BSD-3-Clause
// What the programs beside MPI in the bench of IMPI share: a clock, and an end with a reason.
#ifndef PLI_BENCH_IMPI_TOOLS_H
#define PLI_BENCH_IMPI_TOOLS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now(void) // seconds
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void must(int is_good, const char *what)
{
    if (!is_good) {
        perror(what);
        exit(1);
    }
}

#endif
