// SPDX-License-Identifier: BSD-3-Clause
// Prepares a launcher process for checkpoints, by its role.
#ifndef PLI_LAUNCHER_CKPT_OPEN_H
#define PLI_LAUNCHER_CKPT_OPEN_H

#include <stdbool.h>

struct pli_ckpt_role;
struct pli_job;

// In mpiexec: prepare for checkpoints where the command line asks for them. False with a message:
// they cannot be made here. Context: the node memory is there, no rank has been started.
bool pli_ckpt_open(struct pli_job *job, const struct pli_ckpt_role *role);
// The same in a daemon, where mpiexec decides.
bool pli_ckpt_open_daemon(struct pli_job *job);

#endif
