// SPDX-License-Identifier: BSD-3-Clause
// A process that was forked from a rank becomes another rank.
#ifndef PLI_ELASTIC_FORK_CHILD_H
#define PLI_ELASTIC_FORK_CHILD_H

#include "base/err.h"

#include <stdint.h>

// Whether this process can be cloned now: no operation may be under way in it. Completes buffered
// sends first. The error text says what the program must do before. Context: no lock held.
enum pli_err pli_fork_child_may(void);

// In the new process, which becomes the process `index` of the job, if need be on another host.
// on_known: see pli_boot_ops.clone. Everything that other processes see is made anew; communicators
// are dropped, as they belong to the parent, but for those with one member. Context: the process
// has one thread.
enum pli_err pli_fork_child_begin(uint32_t index, void (*on_known)(void));

#endif
