// SPDX-License-Identifier: BSD-3-Clause
// A copy of a frozen process, made by fork: it is dumped in the process's stead, which can go on at
// once. The kernel copies a page when one of both writes to it. All functions are
// async-signal-safe, and are called while all threads of the process are in the handler of
// freeze.c.
#ifndef PLI_CKPT_FREEZE_COPY_H
#define PLI_CKPT_FREEZE_COPY_H

#include "ckpt/thread_stop.h"

#include <stdbool.h>

struct pli_boot;

// Whether a copy of this process can be dumped in its stead: it has nothing that fork does not copy
// or that the two would share, such as files that are open for writing, pipes of its own, timers or
// children. resume_fd: the pipe at which it is about to wait.
bool pli_freeze_copy_is_possible(const struct pli_boot *boot, int resume_fd,
                                 struct pli_thread_stopped others);

// Make the copy, which tells the launcher of itself and closes its control socket. Returns the
// resume pipe of the copy there, and -1 in the process itself, also where no copy could be made:
// the launcher dumps the process then.
int pli_freeze_copy_make(const struct pli_boot *boot, int resume_fd,
                         struct pli_thread_stopped others);

#endif
