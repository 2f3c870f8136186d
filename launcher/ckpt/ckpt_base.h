// SPDX-License-Identifier: BSD-3-Clause
// The earlier checkpoint that an incremental one is based on: pages that have not changed since are
// read from there at a restart.
#ifndef PLI_LAUNCHER_CKPT_BASE_H
#define PLI_LAUNCHER_CKPT_BASE_H

#include <stdbool.h>

struct pli_ckpt_plan;

// Choose what the checkpoint is based on whose directory was just made (plan->base, depth, pages),
// and link it there. False with errno: the link cannot be made. It is the last checkpoint that this
// job made or was restored from, while that is there and not too many are based on each other.
bool pli_ckpt_base_link(struct pli_ckpt_plan *plan);

#endif
