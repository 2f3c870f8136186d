// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Comm_migrate: a program asks for a move of one of its ranks to another host.
#ifndef PLI_ELASTIC_MIGRATE_H
#define PLI_ELASTIC_MIGRATE_H

#include "base/err.h"

struct pli_comm;

// Ask for a move of a member of comm to a host. Collective; rank and host count at the first
// member.
enum pli_err pli_migrate_member(struct pli_comm *comm, int rank, const char *host);

#endif
