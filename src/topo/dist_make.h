// SPDX-License-Identifier: BSD-3-Clause
// The communicator of a distributed graph, once every process has its own neighbours.
#ifndef PLI_TOPO_DIST_MAKE_H
#define PLI_TOPO_DIST_MAKE_H

#include "base/err.h"

struct pli_comm;
struct pli_info;
struct pli_topo;

// Collective. t describes the node of the caller's rank and is taken over, also on failure;
// info has hints for the new communicator.
enum pli_err pli_dist_make(struct pli_comm *comm, struct pli_topo *t, int reorder,
                           struct pli_info *info, struct pli_comm **out);

#endif
