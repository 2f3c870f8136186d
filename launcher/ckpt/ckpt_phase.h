// SPDX-License-Identifier: BSD-3-Clause
// The steps of the checkpoint that is being made, and how it failed.
#ifndef PLI_LAUNCHER_CKPT_PHASE_H
#define PLI_LAUNCHER_CKPT_PHASE_H

#include "launcher/ckpt/ckpt_steps.h"

#include <stdbool.h>

// Go on to a step. False: it does not follow the one that was reached.
bool pli_ckpt_go(enum pli_ckpt_phase to);
// The first reason counts.
void __attribute__((format(printf, 2, 3))) pli_ckpt_fail(int error, const char *fmt, ...);
// Begin anew without one.
void pli_ckpt_clear(void);
// An attempt is begun: a rank that asks later means the next.
void pli_ckpt_count(void);
// Whether ranks stand still or are about to: none may be started now.
bool pli_ckpt_is_stopping(void);

#endif
