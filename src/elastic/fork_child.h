// SPDX-License-Identifier: BSD-3-Clause
// A process that was forked from a rank becomes another rank.
#ifndef PLI_ELASTIC_FORK_CHILD_H
#define PLI_ELASTIC_FORK_CHILD_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct pli_group;

// Whether this process can be cloned now: no operation may be under way in it. Completes buffered
// sends first. The error text says what the program must do before. Context: no lock held.
enum pli_err pli_fork_child_may(void);

// Requests, where no thread is in a call of MPI. Async-signal-safe.
size_t pli_fork_child_count_requests(void);

// Which processes a fork clones: the first n of `parents`, whose clones are the processes first,
// first + 1, ... of the job.
struct pli_fork_clones {
    const struct pli_group *parents;
    int n;
    uint32_t first;
};

// In the new process, which becomes the process `index` of the job, if need be on another host.
// on_known: see pli_boot_ops.clone. Everything that other processes see is made anew. A
// communicator of which all members were cloned is that of the clones here, and others are dropped,
// as they belong to the parent. Context: the process has one thread.
enum pli_err pli_fork_child_begin(uint32_t index, const struct pli_fork_clones *clones,
                                  void (*on_known)(void));

#endif
