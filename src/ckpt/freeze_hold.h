// SPDX-License-Identifier: BSD-3-Clause
// Delays freezing for a moment, or forbids it for good.
#ifndef PLI_CKPT_FREEZE_HOLD_H
#define PLI_CKPT_FREEZE_HOLD_H

#include <stdbool.h>

// Between the two this process has something that cannot be dumped, as a connection to the launcher
// or a ring of io_uring; a checkpoint waits. Context: any thread.
void pli_freeze_hold(void);
void pli_freeze_let(void);
// Async-signal-safe.
bool pli_freeze_is_held(void);
// A checkpoint found the process held, and will ask again; whether that was in the last second:
// then who can do without holding does, so that it is not found so each time. The first is
// async-signal-safe.
void pli_freeze_note_wait(void);
bool pli_freeze_is_waited_for(void);

// Say that this process can never be dumped; why: a static string.
void pli_freeze_forbid(const char *why);
// Async-signal-safe.
bool pli_freeze_is_forbidden(const char **why_out);

#endif
