// SPDX-License-Identifier: BSD-3-Clause
// Looks out for ranks that wait for each other for ever.
#ifndef PLI_LAUNCHER_DEADLOCK_H
#define PLI_LAUNCHER_DEADLOCK_H

#include "launcher/base/loop.h"
#include "launcher/job/role.h"
#include <stdbool.h>
#include <stdint.h>

struct pli_job;
struct pli_job_status_stuck;

// Begin to look, if the job wants it.
void pli_deadlock_begin(struct pli_job *job);

// Whether all ranks of this host wait inside MPI.
enum pli_role_stuck pli_deadlock_is_stuck(struct pli_job *job, struct pli_job_status_stuck *out);

// Ask the ranks of this host whether they have looked and found nothing: those that sleep wake up
// and look. Again: to those that have not answered yet, without a new question.
void pli_deadlock_ask(struct pli_job *job, bool is_again);

// Whether the processes of a row have ended, of one host.
bool pli_deadlock_is_row_over(void *job, uint32_t row);

// The last look at ranks that may wait for ever: pli_launcher.deadlock.
struct pli_deadlock_state {
    struct pli_timer timer;
    uint64_t mark; // of the last answers, when all ranks waited
    bool is_sure;  // there were such answers
    bool is_asked; // this host's ranks were asked
    bool is_told;  // this deadlock was reported
};

#endif
