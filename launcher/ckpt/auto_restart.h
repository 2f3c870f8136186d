// SPDX-License-Identifier: BSD-3-Clause
// --on-failure=restart: after a rank has died, or a host was lost, the job goes on by itself from
// its last good checkpoint, on the hosts that are left.
#ifndef PLI_LAUNCHER_AUTO_RESTART_H
#define PLI_LAUNCHER_AUTO_RESTART_H

#include <stdbool.h>
#include <stdint.h>

struct pli_auto_restart;
struct pli_rank_failure;
struct pli_job;

// Read COUNT:LAST:FLOOR:BELOW; ends with a message when it makes no sense.
void pli_auto_restart_read(struct pli_auto_restart *a, const char *text);

// Checkpoints go to this directory, an absolute one. Context: before the first is made.
void pli_auto_restart_open(struct pli_job *job, const char *dir);

// A rank has failed; is_end: the job ends for it. One that called MPI_Abort meant it.
void pli_auto_restart_note(const struct pli_rank_failure *c, bool is_end);

// A host is lost, and the job ends for it.
void pli_auto_restart_lost(void);

// The checkpoint that the job was to go on from cannot be restored, and nothing is left of the
// attempt: becomes a new mpiexec that tries the one before it. Returns when there is none, or the
// user named this one.
void pli_auto_restart_before(struct pli_job *job);
// On several hosts: that has been found out, and is done when the job has ended.
void pli_auto_restart_unrestored(void);

// All of the job is gone; is_ended: because it was ended. Becomes a new mpiexec that goes on from
// the last checkpoint, if a rank has failed and that was wanted; returns otherwise, with a message
// when it was wanted and cannot be.
void pli_auto_restart_run(struct pli_job *job, bool is_ended);

#endif
