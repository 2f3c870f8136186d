// SPDX-License-Identifier: BSD-3-Clause
// Checks who can write a checkpoint: such a user can have mpiexec run any command, because its
// manifest names commands and its images are processes.
#ifndef PLI_LAUNCHER_RESTART_TRUST_H
#define PLI_LAUNCHER_RESTART_TRUST_H

#include <stdbool.h>
#include <stdint.h>

// Whether only this user and root can change the checkpoint in this directory, its manifest,
// or the folder it is in; why (of PLI_CKPT_WHY characters) says else who can, and what to do.
bool pli_restart_trust(const char *checkpoint, char *why);
// Tell the user once when checkpoints of this folder will be refused: before there is any, with
// number 0, and when that one is there.
void pli_restart_trust_warn(const char *folder, uint32_t number);

#endif
