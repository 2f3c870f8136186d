// SPDX-License-Identifier: BSD-3-Clause
// Finds in a job's shared memory where its processes are and which of them have ended.
#include "dynamic/reachable.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "net/shm/other_job.h"
#include "obj/comm.h"
#include "obj/group.h"

#include <string.h>

enum pli_err pli_reachable_check(const struct pli_comm *comm, uint64_t proc)
{
    const struct pli_node *node = &pli_proc.boot->node;
    uint32_t here = node->header->host_index;
    if (pli_node_job_of(proc) == pli_proc.boot->job || node->header->n_host == 1) {
        return PLI_OK;
    }
    for (int r = 0; r < comm->size; r++) {
        struct pli_id id = pli_group_at(comm->group, r);
        const struct pli_node_proc *p = pli_node_job_of(id.proc) == pli_proc.boot->job
                                            ? pli_node_find(node, (uint32_t)id.proc)
                                            : NULL;
        if (p != NULL && p->host != here) {
            return pli_fail(PLI_ERR_PORT,
                            "rank %d of the communicator is on host %s, the root on %s; jobs that "
                            "were started separately can connect only if all ranks that take part "
                            "are on one host",
                            r, node->hosts[p->host].name, node->hosts[here].name);
        }
    }
    return PLI_OK;
}

enum pli_err pli_reachable_check_host(const char *host)
{
    const char *here = pli_proc.boot->node.header->host;
    return strcmp(host, here) == 0
               ? PLI_OK
               : pli_fail(PLI_ERR_PORT,
                          "the port is on host %s and this process on %s; jobs that were started "
                          "separately can connect only if all ranks that take part are on one host",
                          host, here);
}

enum pli_err pli_reachable_refuse_joined(void)
{
    // Jobs joined by IMPI have one job number, by which a process finds only its own job.
    return pli_fail(PLI_ERR_PORT, "the other process belongs to a job that IMPI has joined to this "
                                  "one; MPI_COMM_WORLD has both, and MPI_Intercomm_create connects "
                                  "them");
}

bool pli_reachable_has_ended(uint64_t proc)
{
    return pli_node_job_of(proc) != pli_proc.boot->job
               ? pli_other_job_has_ended(proc)
               : pli_node_has_ended(&pli_proc.boot->node, (uint32_t)proc);
}
