// SPDX-License-Identifier: BSD-3-Clause
// Locks a folder of checkpoints: a job that writes there holds the lock until its last process has
// ended. A job that goes on from there waits for that, because restored ranks look like those of
// the old job.
#ifndef PLI_LAUNCHER_CKPT_LOCK_H
#define PLI_LAUNCHER_CKPT_LOCK_H

#include <stdbool.h>

// Wait until no job uses the folder of this checkpoint. False with a message: one still does.
bool pli_ckpt_lock_wait(const char *checkpoint);
// Use the folder. The descriptor stands for it in every process that has it; -1: it cannot be had.
int pli_ckpt_lock_take(const char *folder);

#endif
