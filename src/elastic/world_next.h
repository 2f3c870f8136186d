// SPDX-License-Identifier: BSD-3-Clause
// MPIX_World_next: the ranks agree on the next version of the world, whatever asked for it (mpictl,
// the program, failures), and go on in it together. Also what changed between two versions.
#ifndef PLI_ELASTIC_WORLD_NEXT_H
#define PLI_ELASTIC_WORLD_NEXT_H

#include "base/err.h"

#include <stdint.h>

struct pli_comm;
struct pli_group;
struct pli_info;

// *out: the version that the ranks work in from now on; NULL: this rank is to leave. Context: all
// living ranks of the version that they work in call it; waits.
enum pli_err pli_world_next(struct pli_comm **out, struct pli_info *info);

// What the last call has changed: MPIX_World_get_added, _get_leaving, _get_failed. The caller
// releases the group.
enum pli_err pli_world_next_added(struct pli_group **out);
enum pli_err pli_world_next_leaving(struct pli_group **out);
enum pli_err pli_world_next_failed(struct pli_group **out);

// The members of a version of the world, in the order of their ranks.
enum pli_err pli_world_next_members(uint32_t version, struct pli_group **out);
// The members of `from` that failed before version `to` began, or were to leave it and died.
enum pli_err pli_world_next_lost(struct pli_group *from, struct pli_group *to,
                                 struct pli_group **out);

// In a process that was just forked: it works in the version that the fork makes.
void pli_world_next_clone(void);

#endif
