// SPDX-License-Identifier: BSD-3-Clause
// Communicators from groups, without a parent communicator. [MPI-5.0 7.4.2, 7.6.2]
#ifndef PLI_SESSION_FROM_GROUP_H
#define PLI_SESSION_FROM_GROUP_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_errhandler;
struct pli_group;
struct pli_info;

// The empty group gives *out = NULL. Context: no lock held; waits for the members.
enum pli_err pli_from_group_comm(struct pli_group *group, const char *tag, struct pli_info *info,
                                 struct pli_errhandler *errhandler, struct pli_comm **out);

// remote_group and remote_leader are significant at the local leader.
enum pli_err pli_from_group_inter(struct pli_group *local, int local_leader, MPI_Group remote_group,
                                  int remote_leader, const char *tag, struct pli_info *info,
                                  struct pli_errhandler *errhandler, struct pli_comm **out);

#endif
