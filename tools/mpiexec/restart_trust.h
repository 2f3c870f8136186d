// SPDX-License-Identifier: BSD-3-Clause
// Who can write a checkpoint can have mpiexec run any command: its manifest names them, and its
// images are processes.
#ifndef PLI_MPIEXEC_RESTART_TRUST_H
#define PLI_MPIEXEC_RESTART_TRUST_H

#include <stdbool.h>

// Whether nobody but this user and root can change the checkpoint in this directory, its manifest,
// or the folder it is in; why (of PLI_CKPT_WHY characters) says else who can, and what to do.
bool pli_restart_trust(const char *checkpoint, char *why);
// The same of the folder alone.
bool pli_restart_trust_folder(const char *folder, char *why);

#endif
