// SPDX-License-Identifier: BSD-3-Clause
// Process sets that follow the world when its size changes: those of hosts and their parts, and
// that of the program in a job of one program. Their members are taken from the newest version of
// the world.
#ifndef PLI_SESSION_SESSION_LIVE_H
#define PLI_SESSION_SESSION_LIVE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_pset;

// The newest version of the world that this process is a rank of, from 0 on.
uint32_t pli_session_live_version(void);
// Whether a set of the table follows the world, which has changed since the set was made.
bool pli_session_live_follows(const struct pli_pset *set);
// The members that such a set has now, which the caller frees.
enum pli_err pli_session_live_list(const struct pli_pset *set, uint32_t **list_out,
                                   uint32_t *n_out);
// Whether a process is one of them; the same for sets that do not change.
bool pli_session_live_has(const struct pli_pset *set, uint32_t index);

#endif
