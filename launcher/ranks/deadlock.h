// SPDX-License-Identifier: BSD-3-Clause
// Looks out for ranks that wait for each other for ever.
#ifndef PLI_LAUNCHER_DEADLOCK_H
#define PLI_LAUNCHER_DEADLOCK_H

#include "launcher/base/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// Begin to look, if the job wants it.
void pli_deadlock_begin(struct pli_job *job);

// Whether all ranks of this host sleep inside MPI; the mark changes when one wakes.
bool pli_deadlock_is_stuck(struct pli_job *job, uint64_t *mark_out);

// Whether the processes of a row have ended, of one host.
bool pli_deadlock_is_row_over(void *job, uint32_t row);

// The last look at ranks that may wait for ever: pli_launcher.deadlock.
struct pli_deadlock_state {
    struct pli_timer timer;
    uint64_t mark;  // of the last look, when all ranks were asleep
    bool is_asleep; // they were
    bool is_told;   // this deadlock was reported
};

#endif
