// SPDX-License-Identifier: BSD-3-Clause
// Freezing: all threads of the process stand still inside a signal handler, and the process holds
// nothing that connects it with others: no shared memory, no socket. So it can be dumped, wherever
// it was. When the launcher resumes it, it maps the node memory where it was before and goes on as
// if nothing had been.
#ifndef PLI_CKPT_FREEZE_H
#define PLI_CKPT_FREEZE_H

#include "base/err.h"

#include <stdbool.h>

struct pli_boot;

// Give the bootstrap what it asks of this folder (boot->freeze) and, where the job makes
// checkpoints, be ready to be frozen: the control socket is closed meanwhile and another one
// afterwards. Context: start-up, before the row says that MPI runs; more than once is fine.
enum pli_err pli_freeze_open(struct pli_boot *boot);

// Whether this process may be frozen.
bool pli_freeze_is_open(void);

// Asked before: whether the process has nothing that cannot be given up in a signal handler; else
// it sees to that, and is asked again 20 ms later. Async-signal-safe. Context: start-up only, one
// function.
void pli_freeze_on_ask(bool (*fn)(void));

// Called when all threads stand still, and once more after the return, before they go on: for what
// the kernel knew of the process and does not any more. Async-signal-safe. Context: start-up only,
// one function.
void pli_freeze_on_move(void (*fn)(bool is_leaving));

// Ask the launcher for a checkpoint; the node memory says when it is over. False: it is gone.
// Context: any thread.
bool pli_freeze_ask(void);

#endif
