// SPDX-License-Identifier: BSD-3-Clause
// mpiexec of a job on several hosts: starts the daemons, hears what they say, and ends them.
#ifndef PLI_LAUNCHER_HEAD_RUN_H
#define PLI_LAUNCHER_HEAD_RUN_H

#include "boot/launcher_wire.h"
#include "launcher/job/role.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// Start the daemons; when all have called, the tasks are started. argv: of this process. False with
// a message.
bool pli_head_run_begin(struct pli_job *job, char **argv);

// Whether every rank that is left on any host sleeps inside MPI, as far as is known, with a mark
// that changes when one wakes. Asks the hosts anew when they all seem to.
enum pli_role_stuck pli_head_run_is_stuck(struct pli_job *job, struct pli_job_status_stuck *out);

// Get what all ranks wait for into job->node, then call `done`.
void pli_head_run_show(enum pli_look what, uint32_t index, void (*done)(void));
bool pli_head_run_is_showing(void);          // that is under way
const char *pli_head_run_site(uint32_t row); // where its rank waits, "": not known

// All is over: the daemons leave. is_bad: they look for what is left of the job first.
void pli_head_run_finish(const struct pli_job *job, bool is_bad);

#endif
