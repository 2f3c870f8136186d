// SPDX-License-Identifier: BSD-3-Clause
// A directory of checkpoints: their numbers, and names for what is none, or none yet.
#ifndef PLI_LAUNCHER_CKPT_DIR_H
#define PLI_LAUNCHER_CKPT_DIR_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_ckpt_plan;

// The number that a checkpoint has by its name, 0: it is none.
uint32_t pli_ckpt_number_of(const char *path);
// The highest number below another in a directory of checkpoints, 0: none.
uint32_t pli_ckpt_last(const char *dir, uint32_t below);
// A name in a directory for what is no checkpoint, or none yet, of this process.
void pli_ckpt_temp(char to[PATH_MAX], const char *dir, pid_t owner, const char *what);
// The number of the next checkpoint, and where it is written; remnants of attempts whose mpiexec is
// gone are removed.
void pli_ckpt_number(struct pli_ckpt_plan *plan);
void pli_ckpt_remove(const char *path); // with all that is in it

#endif
