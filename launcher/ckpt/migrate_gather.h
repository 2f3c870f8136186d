// SPDX-License-Identifier: BSD-3-Clause
// The ranks that do not move, in a move of others: they go on meanwhile, and stop once more when
// the others are where they go.
#ifndef PLI_LAUNCHER_MIGRATE_GATHER_H
#define PLI_LAUNCHER_MIGRATE_GATHER_H

#include "launcher/ckpt/ckpt_phase.h"

#include <stdbool.h>
#include <stdint.h>

// In mpiexec. All ranks are about to stop.
void pli_migrate_gather_begin(void);
// The others have given up their connections, or resumed: whether all have.
bool pli_migrate_gather_are(enum pli_ckpt_stage stage);
// Let them go on.
void pli_migrate_gather_part(void);
// Whether they stand still with those that move.
bool pli_migrate_gather_is_done(void);
// Let them stop once more; pli_ckpt_head_gathered is called when they have.
void pli_migrate_gather_want(void);
// What the daemon of such ranks says. False: it is about the stop of all.
bool pli_migrate_gather_hear(uint32_t host, enum pli_ckpt_stage stage, bool is_bad);
// How long they have stood still, in ns.
uint64_t pli_migrate_gather_ns(void);

#endif
