// SPDX-License-Identifier: BSD-3-Clause
// Delays freezing for a moment, or forbids it for good.
#ifndef PLI_CKPT_FREEZE_HOLD_H
#define PLI_CKPT_FREEZE_HOLD_H

#include <stdbool.h>

// Between the two this process has a connection to the launcher and cannot be dumped; a checkpoint
// waits. Context: any thread.
void pli_freeze_hold(void);
void pli_freeze_let(void);
// Async-signal-safe.
bool pli_freeze_is_held(void);

// Say that this process can never be dumped; why: a static string.
void pli_freeze_forbid(const char *why);
// Async-signal-safe.
bool pli_freeze_is_forbidden(const char **why_out);

#endif
