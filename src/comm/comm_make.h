// SPDX-License-Identifier: BSD-3-Clause
// What every constructor of communicators needs: a new communicator with the properties of its
// parent, and the agreement on its context among its members.
#ifndef PLI_COMM_COMM_MAKE_H
#define PLI_COMM_COMM_MAKE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_datatype;
struct pli_group;

// The library's tags on a communicator's set-up channel; tags from the program are 0 or more.
enum {
    PLI_SETUP_CREATE = -16,
    PLI_SETUP_EXCHANGE = -17,
    PLI_SETUP_REORDER = -18,
    PLI_SETUP_PLAN = -19,
    PLI_SETUP_LEADER = -64
};

// A communicator in which the parent's endpoint is the member, with the parent's error handler.
// remote: NULL for an intracommunicator. Local. Context: any thread.
enum pli_err pli_comm_make_child(struct pli_comm *parent, struct pli_group *group,
                                 struct pli_group *remote, uint64_t context, struct pli_comm **out);

// The same for an intercommunicator, with the intracommunicator of its local group.
enum pli_err pli_comm_make_inter(struct pli_comm *parent, struct pli_group *group,
                                 struct pli_group *remote, uint64_t context, uint64_t local_context,
                                 struct pli_comm **out);

// Let the members of a subgroup of an intracommunicator, and no others, agree on a new context
// that its first member makes, and make the child. The caller is a member. tag: separates
// concurrent agreements. Context: no lock held; waits.
enum pli_err pli_comm_make_sub(struct pli_comm *parent, struct pli_group *group, int tag,
                               struct pli_comm **out);

// The same where all members of the parent call; *out is not written for callers outside the group.
enum pli_err pli_comm_make_all(struct pli_comm *parent, struct pli_group *group,
                               struct pli_comm **out);

// Whether the caller of this communicator belongs to the group.
bool pli_comm_make_is_member(const struct pli_comm *c, const struct pli_group *group);

// Checks that all of `group` are in `c`'s local group; the error names one that is not.
enum pli_err pli_comm_make_check(const struct pli_comm *c, struct pli_group *group);

// MPI_BYTE, for the messages of constructors.
struct pli_datatype *pli_comm_make_byte(void);

#endif
