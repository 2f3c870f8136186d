// SPDX-License-Identifier: BSD-3-Clause
// A version of the world, from the point on from which it counts.
#ifndef PLI_LAUNCHER_WORLD_VERSION_H
#define PLI_LAUNCHER_WORLD_VERSION_H

#include <stdbool.h>
#include <stdint.h>

struct pli_answer;
struct pli_job;
struct pli_pack;
struct pli_unpack;

struct pli_world_version {
    uint32_t version;
    const uint32_t *members, *leavers; // indices
    uint32_t n_member, n_leaver;
};

// Make its process set, and notify the ranks that are to leave. False with a refusal: nothing has
// changed.
bool pli_world_version_make(struct pli_job *job, const struct pli_world_version *w,
                            struct pli_answer *a);
// It counts from here on.
void pli_world_version_advance(struct pli_job *job, const struct pli_world_version *w);

// For daemons, which do both at once. False: what came makes no sense, or cannot be done.
void pli_world_version_pack(const struct pli_world_version *w, struct pli_pack *to);
bool pli_world_version_take(struct pli_job *job, struct pli_unpack *from, struct pli_answer *a);

#endif
