// SPDX-License-Identifier: BSD-3-Clause
// Assertions of the user about a communicator: bits of pli_comm.hints. [MPI-5.0 7.4.4]
#ifndef PLI_OBJ_COMM_HINT_H
#define PLI_OBJ_COMM_HINT_H

#include "obj/comm.h"

enum {
    PLI_HINT_NO_ANY_TAG = 1,
    PLI_HINT_NO_ANY_SOURCE = 2,
    PLI_HINT_EXACT_LENGTH = 4,
    PLI_HINT_ALLOW_OVERTAKING = 8
};
// From this bit on: hint pliant_num_lanes of endpoints; 0: it was not given.
enum { PLI_HINT_LANES_AT = 8 };

// Whether the user has promised that an exact receive never competes with a wildcard for a message,
// or does not mind which of the two gets it.
static inline bool pli_comm_hint_is_unordered(const struct pli_comm *c)
{
    const uint32_t no_wild = PLI_HINT_NO_ANY_TAG | PLI_HINT_NO_ANY_SOURCE;
    return (c->hints & no_wild) == no_wild || (c->hints & PLI_HINT_ALLOW_OVERTAKING) != 0;
}

// Take over the assertions an info object names; others stay as they are, unknown keys are not
// looked at. info: NULL changes nothing.
enum pli_err pli_comm_hint_set(struct pli_comm *c, struct pli_info *info);

// A new info object with every hint the library knows and its value now.
enum pli_err pli_comm_hint_get(struct pli_comm *c, struct pli_info **out);

#endif
