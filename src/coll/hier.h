// SPDX-License-Identifier: BSD-3-Clause
// The pieces of an operation on several hosts: among the ranks of my host, and among one rank of
// each host.
#ifndef PLI_COLL_HIER_H
#define PLI_COLL_HIER_H

#include "coll/coll_args.h"

struct pli_sched;

struct pli_hier {
    struct pli_coll_args local, across; // the arguments with n, me and root seen from there
    const int *members, *leaders;       // ranks of the communicator, for pli_sched_among
    bool is_leader;
};

// root: the rank that speaks for its host, or -1: the first of each host does.
struct pli_hier pli_hier_make(struct pli_sched *s, const struct pli_coll_args *a, int root);

#endif
