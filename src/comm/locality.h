// SPDX-License-Identifier: BSD-3-Clause
// Where processes run: the node, and the pieces of hardware that each is bound to, from hwloc. One
// process of a node asks hwloc for all of its ranks.
#ifndef PLI_COMM_LOCALITY_H
#define PLI_COMM_LOCALITY_H

#include "base/err.h"
#include "boot/hwtree.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_info;

struct pli_locality {
    uint64_t node; // the same for processes that share memory
    uint32_t at[PLI_N_HWTREE];
};

// The places of all ranks; collective, on an intracommunicator. A rank that takes no part says so
// and has PLI_LOCALITY_NO_NODE as its node. Fails at all ranks if the hardware of one node cannot
// be read. Freed by the caller.
#define PLI_LOCALITY_NO_NODE UINT64_MAX
enum pli_err pli_locality_gather(struct pli_comm *comm, bool counts, struct pli_locality **out);

// The same for callers that only want to keep neighbours near: pieces of a node stay
// PLI_HWTREE_ANY where all its ranks have the same binding, and, with a warning, where hwloc
// cannot tell.
enum pli_err pli_locality_compare(struct pli_comm *comm, struct pli_locality **out);

// The name of a level, as "hwloc://Package"; and the level of a name with or without the prefix,
// -1: not a known type.
const char *pli_locality_name(enum pli_hwtree_level level);
int pli_locality_level(const char *name);

// The node of this process, see above.
uint64_t pli_locality_node(void);

// MPI_Get_hw_resource_info: every type this machine has, and whether the caller is bound to one
// instance.
enum pli_err pli_locality_info(struct pli_info **out);

#endif
