// SPDX-License-Identifier: BSD-3-Clause
// Set operations on groups. Results keep the order the standard asks for. [MPI-5.0 7.3.2]
#ifndef PLI_OBJ_GROUP_SETS_H
#define PLI_OBJ_GROUP_SETS_H

#include "obj/group.h"

// Near-linear in runs where runs go the same way, else in members. Context: any thread. Groups of
// different sessions are refused.
enum pli_err pli_group_sets_union(struct pli_group *a, struct pli_group *b, struct pli_group **out);
enum pli_err pli_group_sets_intersection(struct pli_group *a, struct pli_group *b,
                                         struct pli_group **out);
enum pli_err pli_group_sets_difference(struct pli_group *a, struct pli_group *b,
                                       struct pli_group **out);

// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL; _relation does not ask where the groups come from.
enum pli_err pli_group_sets_relation(const struct pli_group *a, const struct pli_group *b,
                                     int *result_out);
enum pli_err pli_group_sets_compare(struct pli_group *a, struct pli_group *b, int *result_out);

#endif
