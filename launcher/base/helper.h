// SPDX-License-Identifier: BSD-3-Clause
// A program or a copy of this process that works beside mpiexec, and dies with it.
#ifndef PLI_LAUNCHER_HELPER_H
#define PLI_LAUNCHER_HELPER_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pli_helper {
    struct pli_watch watch; // its pidfd; first: the loop gets it
    pid_t pid;              // 0: none
    int killed_by;          // the signal that ended it, 0: none
    int report;             // its end of a pipe; closed when it has ended, -1: there is none
    void (*done)(struct pli_helper *h, bool is_good);
};

#define PLI_HELPER_NONE                                                                            \
    {                                                                                              \
        .watch = { .fd = -1 }, .report = -1                                                        \
    }

// Runs fn(arg, report) in a copy of this process; it is good when fn returns true, and what it
// wrote to report says else why. False with errno: it cannot be started.
bool pli_helper_fork(struct pli_helper *h, bool (*fn)(void *arg, int report), void *arg);
// Runs a program. With keep, descriptors that it inherits and -1 at the end, it is our child and
// its children may become ours; else it surely dies with us.
bool pli_helper_exec(struct pli_helper *h, const char *const argv[], const int *keep);
// The same, but it surely dies with us although it inherits descriptors.
bool pli_helper_exec_guarded(struct pli_helper *h, const char *const argv[], const int *keep);
void pli_helper_watch(struct pli_helper *h);
void pli_helper_kill(struct pli_helper *h); // and wait for it
// What it said, or that it was killed before it could say anything.
void pli_helper_reason(struct pli_helper *h, char *to, size_t cap);

#endif
