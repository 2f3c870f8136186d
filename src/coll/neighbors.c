// SPDX-License-Identifier: BSD-3-Clause
// Asks the room of topologies for the neighbours of a process.
#include "coll/neighbors.h"

#include "base/cpu.h"
#include "obj/comm.h"

PLI_START_VAR static pli_neighbors_fn find_neighbors;

PLI_START void pli_neighbors_set_finder(pli_neighbors_fn fn)
{
    find_neighbors = fn;
}

enum pli_err pli_neighbors_find(struct pli_comm *comm, struct pli_neighbors *out)
{
    if (comm->topo == NULL || find_neighbors == NULL) {
        return pli_fail(PLI_ERR_TOPOLOGY, "%s has no topology, so a process has no neighbours",
                        pli_comm_say(comm));
    }
    return find_neighbors(comm, out);
}
