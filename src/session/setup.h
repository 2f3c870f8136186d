// SPDX-License-Identifier: BSD-3-Clause
// Makes a communicator of a group whose members have none yet. Only members take part, and each
// exchanges messages with a few others in a tree.
#ifndef PLI_SESSION_SETUP_H
#define PLI_SESSION_SETUP_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;
struct pli_group;

// Collective over the members. tag, with the group and the call, tells concurrent set-ups apart.
// call: the name of the MPI function, for reports of what a rank waits for; a static string. All
// members get the same outcome: a communicator, or an error that names a member that has ended. In
// a job that goes on after failures PLI_ERR_PROC_FAILED names the failed members; a failure at the
// last moment may show only as the failure of a member of the new communicator. skip_failed: make
// the communicator of the survivors, on which all agree. Context: no lock held; waits until every
// member has called.
enum pli_err pli_setup_comm(struct pli_group *group, const char *tag, const char *call,
                            bool skip_failed, struct pli_comm **out);

#endif
