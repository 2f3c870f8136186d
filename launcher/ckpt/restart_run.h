// SPDX-License-Identifier: BSD-3-Clause
// Brings the processes of a checkpoint back.
#ifndef PLI_LAUNCHER_RESTART_RUN_H
#define PLI_LAUNCHER_RESTART_RUN_H

#include <stdbool.h>

struct pli_job;

// Bring all ranks back, or tell those to come where the state is that was registered. False with a
// message: none is left.
bool pli_restart_run(struct pli_job *job, int signals);
// The same for the ranks of this host, from their images.
bool pli_restart_ranks(struct pli_job *job, int signals);
// They go on, after all hosts have theirs. False: none wait for that.
bool pli_restart_call(struct pli_job *job);
void pli_restart_call_all(void);
// All are there: another number of ranks is a resize, as any other.
void pli_restart_resize(struct pli_job *job);

#endif
