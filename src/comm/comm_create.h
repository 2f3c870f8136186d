// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create and MPI_Comm_create_group. [MPI-5.0 7.4.2]
#ifndef PLI_COMM_COMM_CREATE_H
#define PLI_COMM_COMM_CREATE_H

#include "base/err.h"

struct pli_comm;
struct pli_group;

// *out is NULL for callers outside the group. Context: no lock held; members wait.
enum pli_err pli_comm_create_create(struct pli_comm *comm, struct pli_group *group,
                                    struct pli_comm **out);
// Only members call; their tags separate concurrent calls.
enum pli_err pli_comm_create_group(struct pli_comm *comm, struct pli_group *group, int tag,
                                   struct pli_comm **out);

#endif
