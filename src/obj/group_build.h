// SPDX-License-Identifier: BSD-3-Clause
// Collects members in rank order and keeps them as few runs.
#ifndef PLI_OBJ_GROUP_BUILD_H
#define PLI_OBJ_GROUP_BUILD_H

#include "obj/group.h"

#include <stdbool.h>

struct pli_group_build {
    struct pli_group_run *runs;
    int n_run, cap;
    int64_t size;
    bool has_failed; // no memory; further members are dropped and finish says so
};

void pli_group_build_init(struct pli_group_build *b);
void pli_group_build_fini(struct pli_group_build *b); // fine after finish

// Append n >= 1 members; base of the run is ignored.
void pli_group_build_add(struct pli_group_build *b, struct pli_group_run run);
void pli_group_build_add_id(struct pli_group_build *b, struct pli_id id);

// Append the members with ranks first, first+step, ... count of them.
void pli_group_build_add_part(struct pli_group_build *b, const struct pli_group *g, int first,
                              int step, int count);

// The group of all that was added, with one reference; the builder is empty afterwards.
enum pli_err pli_group_build_finish(struct pli_group_build *b, struct pli_session *session,
                                    struct pli_id me, struct pli_group **out);

#endif
