// SPDX-License-Identifier: BSD-3-Clause
// Parents and children of every fork: two communicators each, of which a process is in one.
#ifndef PLI_ELASTIC_FORK_PART_H
#define PLI_ELASTIC_FORK_PART_H

#include "base/err.h"

#include <stdint.h>

struct pli_comm;

// After a fork that made this version of the world, whose first n_old ranks were there before.
enum pli_err pli_fork_part_add(struct pli_comm *world, uint32_t version, int n_old);
// This process was forked from another one: the forks before are that one's.
void pli_fork_part_clone(void);

#endif
