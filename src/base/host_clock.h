// SPDX-License-Identifier: BSD-3-Clause
// How far the clock of a host is ahead of this one's, which changes while a job runs: two crystals
// differ by some millionths.
#ifndef PLI_BASE_HOST_CLOCK_H
#define PLI_BASE_HOST_CLOCK_H

#include <stdint.h>

enum { PLI_HOST_CLOCK_N = 256 };

// Questions that were answered within a second: the fastest of them.
struct pli_host_clock {
    uint32_t n;
    struct pli_host_clock_point {
        uint64_t theirs; // ns of the host's clock
        int64_t ahead;
        uint64_t way; // ns between question and answer: it is wrong by half of it at most
    } points[PLI_HOST_CLOCK_N];
};

// A question was answered: the host's clock then, how far that is ahead, and how long it took.
// Answers come in the order of their times.
void pli_host_clock_add(struct pli_host_clock *c, uint64_t theirs, int64_t ahead, uint64_t way);
// A time of the host in this one's clock: on the line between the answers before and after it.
uint64_t pli_host_clock_convert(const struct pli_host_clock *c, uint64_t theirs);

#endif
