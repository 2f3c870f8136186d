// SPDX-License-Identifier: BSD-3-Clause
// Stops all threads of the process but one, which leads, in a signal handler: wherever they are,
// also in the middle of a system call. Each leaves there what a copy of it needs (thread_copy.h).
#ifndef PLI_CKPT_THREAD_STOP_H
#define PLI_CKPT_THREAD_STOP_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct pli_thread_copy; // thread_copy.h

// The other threads, which are stopped.
struct pli_thread_stopped {
    struct pli_thread_copy *const *all;
    int n;
};

// For the handler of PLI_FREEZE_SIGNAL; all are async-signal-safe. A thread leads, and gives that
// up without having stopped any; or stops the others, round: not 0, and releases them. Returns 0,
// or a thread that does not stop, -1: one that is not known. A thread that finds another one
// leading waits until it is released.
bool pli_thread_stop_lead(void);
void pli_thread_stop_resign(void);
pid_t pli_thread_stop_others(int round);
struct pli_thread_stopped pli_thread_stop_list(void);
void pli_thread_stop_release(void);
void pli_thread_stop_wait(void);

// The same for any caller: stop all others, which pli_thread_stop_release lets go on. asks_calls:
// they find out whether they are in calls of MPI (call_site.h). Context: all signals are blocked; in
// the new process of a fork the copies of threads are made by then.
enum pli_err pli_thread_stop_all(bool asks_calls);

#endif
