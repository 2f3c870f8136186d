// SPDX-License-Identifier: BSD-3-Clause
// How the members of a group that have no communicator yet make one. Only members take part; each
// talks to a few others of a tree.
#ifndef PLI_SESSION_SETUP_H
#define PLI_SESSION_SETUP_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;
struct pli_group;

// Collective over the members. tag, with the group and the call, tells concurrent set-ups apart.
// call: the MPI function, for the record of who waits for what; static. All members get the same
// outcome: a communicator, or an error that names a member that has ended. Where the job survives
// deaths, PLI_ERR_PROC_FAILED names those who died, and a death in the last moment may be heard of
// by some only, as that of a member of the new communicator. skip_failed: the communicator is of
// those who live, on whom all agree. Context: no lock held; waits until every member has called.
enum pli_err pli_setup_comm(struct pli_group *group, const char *tag, const char *call,
                            bool skip_failed, struct pli_comm **out);

#endif
