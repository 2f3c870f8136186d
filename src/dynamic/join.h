// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_join: two processes with a socket between them. [MPI-5.0 11.10.5]
#ifndef PLI_DYNAMIC_JOIN_H
#define PLI_DYNAMIC_JOIN_H

#include "base/err.h"

struct pli_comm;

// self is MPI_COMM_SELF.
enum pli_err pli_join(struct pli_comm *self, int fd, struct pli_comm **out);

#endif
