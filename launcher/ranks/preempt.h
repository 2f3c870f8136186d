// SPDX-License-Identifier: BSD-3-Clause
// What the job does when a scheduler wants its resources back, or changes what it has: see
// --on-preempt.
#ifndef PLI_LAUNCHER_PREEMPT_H
#define PLI_LAUNCHER_PREEMPT_H

#include "launcher/base/helper.h"
#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// The ranks are there: from now on a scheduler is listened to. In mpiexec.
void pli_preempt_begin(struct pli_job *job);
// A signal came. True: it announces a preemption, and the job does what it is to do then. The same
// signal once more is an ordinary one. end: ends the job as the signal would.
bool pli_preempt_signal(int sig, void (*end)(int sig));
// Ends mpiexec with a sentence where the options do not go together.
void pli_preempt_check(const struct pli_job *job);
// Whether Slurm has started this job once more after a preemption.
bool pli_preempt_is_requeued(void);

// pli_launcher.preempt
struct pli_preempt_state {
    struct pli_helper order; // what is being done: mpictl, scontrol, a look at the allocation
    int sig;                 // the signal that has come, 0: none
    bool is_requeued;        // Slurm was told
    bool has_warned;         // that the allocation cannot be followed
    void (*end)(int sig);
    struct pli_timer look;
};

#endif
