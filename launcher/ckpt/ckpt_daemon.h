// SPDX-License-Identifier: BSD-3-Clause
// A daemon's part in a checkpoint: it does as mpiexec says, and tells how far it is.
#ifndef PLI_LAUNCHER_CKPT_DAEMON_H
#define PLI_LAUNCHER_CKPT_DAEMON_H

#include "launcher/ckpt/ckpt_phase.h"

struct pli_ckpt_role;
struct pli_dframe;
struct pli_job;

void pli_ckpt_daemon_hear(struct pli_job *job, const struct pli_dframe *f);
void pli_ckpt_daemon_report(enum pli_ckpt_stage stage);
void pli_ckpt_daemon_resumed(void); // the ranks of this host go on

extern const struct pli_ckpt_role pli_ckpt_daemon_role;

#endif
