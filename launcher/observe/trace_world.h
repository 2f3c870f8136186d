// SPDX-License-Identifier: BSD-3-Clause
// What is known of a world of several IMPI clients, each of which writes a timeline of its own.
#ifndef PLI_LAUNCHER_TRACE_WORLD_H
#define PLI_LAUNCHER_TRACE_WORLD_H

#include "base/host_clock.h"

#include <stdint.h>

struct pli_trace_world {
    uint32_t client, n_rank, first, n; // which client this is; ranks of all, and its own among them
    uint64_t begin;                    // when it began, by its own clock
    struct pli_host_clock clock;       // the head's beside that one
};

#endif
