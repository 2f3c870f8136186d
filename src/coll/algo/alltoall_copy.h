// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms for alltoall begin with: the rank's own block, and a copy of what is sent
// where it is received in the same place.
#ifndef PLI_COLL_ALLTOALL_COPY_H
#define PLI_COLL_ALLTOALL_COPY_H

#include "coll/coll_args.h"

struct pli_sched;

// Copies the rank's own block, and returns where the blocks to be sent are.
struct pli_blocks pli_alltoall_copy(struct pli_sched *s, const struct pli_coll_args *a);

#endif
