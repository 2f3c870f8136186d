// SPDX-License-Identifier: BSD-3-Clause
// Freezing a process: all its threads are stopped inside a signal handler, and it has neither
// shared memory nor sockets that connect it with other processes, so it can be dumped at any point
// of the program. When the launcher resumes it, it maps the node memory at the old address and goes
// on.
#ifndef PLI_CKPT_FREEZE_H
#define PLI_CKPT_FREEZE_H

#include "base/err.h"

#include <stdbool.h>

struct pli_boot;

// Set boot->freeze and, where the job makes checkpoints, install the signal handler. While the
// process is frozen the control socket is closed; afterwards it is a new one. Context: start-up,
// before the row says that MPI runs; may be called more than once.
enum pli_err pli_freeze_open(struct pli_boot *boot);

// Whether this process may be frozen.
bool pli_freeze_is_open(void);
// Whether ranks of the job are on their way to another host. Context: any thread.
bool pli_freeze_is_moving(void);

// Set the function that is asked before a freeze: whether the process has nothing that cannot be
// closed in a signal handler. If it has, the function begins to close it, and is asked again 20 ms
// later. Async-signal-safe. Context: start-up only, one function.
void pli_freeze_on_ask(bool (*fn)(void));

// Set the function that is called when all threads are stopped, and once more after the resume,
// before they go on: for what the kernel knew of the process and no longer does. Async-signal-safe.
// Context: start-up only, one function.
void pli_freeze_on_move(void (*fn)(bool is_leaving));

// Set the function that is called when all threads are stopped: for mappings that are kept for
// speed alone, and are better neither dumped nor shared with a copy of the process.
// Async-signal-safe; the node memory is not mapped. Context: any thread, one function.
void pli_freeze_on_drop(void (*fn)(void));

// Ask the launcher for a checkpoint; the node memory says when it is done. False: it has ended.
// Context: any thread.
bool pli_freeze_ask(void);

#endif
