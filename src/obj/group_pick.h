// SPDX-License-Identifier: BSD-3-Clause
// New groups from chosen ranks of an old one. [MPI-5.0 7.3.2]
#ifndef PLI_OBJ_GROUP_PICK_H
#define PLI_OBJ_GROUP_PICK_H

#include "obj/group.h"

// Ranks must be in range and distinct. Context: any thread.
enum pli_err pli_group_pick_incl(struct pli_group *g, int n, const int ranks[],
                                 struct pli_group **out);
enum pli_err pli_group_pick_excl(struct pli_group *g, int n, const int ranks[],
                                 struct pli_group **out);
enum pli_err pli_group_pick_range_incl(struct pli_group *g, int n, int ranges[][3],
                                       struct pli_group **out);
enum pli_err pli_group_pick_range_excl(struct pli_group *g, int n, int ranges[][3],
                                       struct pli_group **out);

#endif
