// SPDX-License-Identifier: BSD-3-Clause
// The messages of a fork: what fails at one rank fails at all with the same text, and all ranks get
// the launcher's answer.
#include "elastic/fork_exchange.h"

#include "base/clock.h"
#include "base/futex.h"
#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "msg/endpoint.h"
#include "dynamic/launcher_call.h"
#include "dynamic/spawn_part.h"
#include "dynamic/host_hint.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PID_TIMEOUT_S = 10, POLL_NS = 200000 };

enum pli_err pli_fork_exchange_agree(struct pli_comm *world, int m, enum pli_err mine)
{
    char text[400] = "";
    int values[3] = { mine == PLI_OK ? INT_MAX : world->rank, m, -m }, minima[3];
    if (mine != PLI_OK) {
        snprintf(text, sizeof text, "rank %d %s", world->rank, pli_fail_take(NULL));
    }
    enum pli_err err = pli_coll_allreduce(values, minima, 3, pli_datatype_basic(MPI_INT),
                                          pli_handle_get(MPI_MIN, PLI_KIND_OP), world);
    if (err != PLI_OK) {
        return err;
    }
    if (minima[0] != INT_MAX) {
        int reason[2] = { mine, 0 };
        err = pli_coll_bcast(reason, 2, pli_datatype_basic(MPI_INT), minima[0], world);
        if (err == PLI_OK) {
            err = pli_coll_bcast(text, sizeof text, pli_comm_make_byte(), minima[0], world);
        }
        return err != PLI_OK ? err : pli_fail((enum pli_err)reason[0], "%s", text);
    }
    if (minima[1] != -minima[2]) {
        return pli_fail(PLI_ERR_ARG, "the ranks call it with different values, from %d to %d",
                        minima[1], -minima[2]);
    }
    return PLI_OK;
}

enum pli_err pli_fork_exchange_ask(struct pli_comm *world, enum pli_ask_kind kind, const void *body,
                                   size_t len, struct pli_answer *a)
{
    enum pli_err err = PLI_OK;
    memset(a, 0, sizeof *a);
    if (world->rank == 0) {
        err = pli_launcher_call(world->ep->lane, kind, body, len, a);
        if (err != PLI_OK) {
            a->error = -1;
            snprintf(a->text, sizeof a->text, "%.230s", pli_fail_take(NULL));
        }
    }
    err = pli_coll_bcast(a, sizeof *a, pli_comm_make_byte(), 0, world);
    a->text[sizeof a->text - 1] = '\0';
    return err != PLI_OK || a->error == 0 ? err : pli_fail(PLI_ERR_SPAWN, "%s", a->text);
}

enum pli_err pli_fork_exchange_clones(struct pli_comm *world, const struct pli_ask_fork *ask,
                                      struct pli_info *info, struct pli_answer *a)
{
    struct pli_spawn_buf body = { 0 };
    pli_spawn_buf_put(&body, ask, sizeof *ask);
    pli_host_hint_put(&body, info);
    enum pli_err err = pli_fork_exchange_ask(world, PLI_ASK_FORK, body.data, body.len, a);
    pli_spawn_buf_free(&body);
    return err;
}

enum pli_err pli_fork_exchange_pid(uint32_t index, uint32_t *out)
{
    const struct pli_node *node = &pli_boot.node;
    const struct pli_node_proc *p = pli_node_find(node, index);
    uint64_t end = pli_clock_ns() + (uint64_t)PID_TIMEOUT_S * 1000000000u;
    *out = 0;
    while (p != NULL && p->host != pli_boot.host && *out == 0) {
        *out = atomic_load(&node->rows[pli_node_row_of(node, index)].pid);
        if (*out == 0 && pli_clock_ns() > end) {
            return pli_fail(PLI_ERR_SPAWN, "was not told that its clone can go to another host");
        }
        nanosleep(&(struct timespec){ .tv_nsec = *out == 0 ? POLL_NS : 0 }, NULL);
    }
    return PLI_OK;
}

void pli_fork_exchange_wait(uint32_t version)
{
    _Atomic int *word = &pli_boot.node.header->world;
    for (int v = atomic_load(word); v < (int)version; v = atomic_load(word)) {
        pli_futex_wait(word, v, false, 0);
    }
}
