// SPDX-License-Identifier: BSD-3-Clause
// A process that was forked from a rank and becomes another rank.
#ifndef PLI_ELASTIC_FORK_CHILD_H
#define PLI_ELASTIC_FORK_CHILD_H

#include "base/err.h"

#include <stdint.h>

// Whether this process could go on in two: nothing may be under way in it. Sends what waits to be
// sent first. Otherwise a sentence says what is to be done before. Context: no lock held.
enum pli_err pli_fork_child_may(void);

// In the new process, which becomes this one of the job, on the host where that is to be. known:
// see pli_boot_ops.clone. All that other processes see is made anew, and communicators belong to
// the process it was forked from, but for those of one member. Context: the only thread.
enum pli_err pli_fork_child_begin(uint32_t index, void (*known)(void));

#endif
