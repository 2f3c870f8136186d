// SPDX-License-Identifier: BSD-3-Clause
// MPI_Abort on a communicator: asks the launcher to end its members and no other ranks.
#include "elastic/abort_group.h"

#include "boot/launcher_wire.h"
#include "boot/boot.h"
#include "msg/lane.h"
#include "dynamic/launcher_call.h"
#include "obj/comm.h"
#include "obj/group.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

bool pli_abort_group_applies(const struct pli_comm *comm)
{
    const struct pli_boot *boot = pli_proc.boot;
    return comm != NULL && boot != NULL && boot->node.header != NULL &&
           (boot->node.header->mode & PLI_NODE_SURVIVES) != 0;
}

// The members that are processes of this job; a process with several endpoints is listed several
// times.
static uint32_t list_members(const struct pli_group *group, uint32_t *to)
{
    uint32_t n = 0;
    for (int i = 0; i < group->size; i++) {
        uint64_t proc = pli_group_at(group, i).proc;
        if (proc >> 32 == pli_proc.boot->job >> 32) {
            to[n++] = (uint32_t)proc;
        }
    }
    return n;
}

bool pli_abort_group(const struct pli_comm *comm, int code)
{
    if (!pli_abort_group_applies(comm)) {
        return false;
    }
    size_t most = (size_t)comm->group->size;
    most += comm->remote != comm->group ? (size_t)comm->remote->size : 0;
    struct pli_ask_abort *ask = malloc(sizeof *ask + most * sizeof(uint32_t));
    struct pli_answer answer;
    if (ask == NULL) {
        return false;
    }
    uint32_t *members = (uint32_t *)(ask + 1), n = list_members(comm->group, members);
    n += comm->remote != comm->group ? list_members(comm->remote, members + n) : 0;
    *ask = (struct pli_ask_abort){ .code = code, .index = pli_proc.boot->index };
    fflush(stdout); // the launcher may end this process at once
    bool is_done = pli_launcher_call(NULL, PLI_ASK_ABORT, ask, sizeof *ask + n * sizeof(uint32_t),
                                     &answer) == PLI_OK &&
                   answer.error == 0;
    free(ask);
    return is_done;
}
