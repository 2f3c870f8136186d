// SPDX-License-Identifier: BSD-3-Clause
// Asks the launcher to move a rank. The launcher answers when the other host is ready to take it: a
// process with an open request cannot be stopped, so the move itself comes after the answer.
#include "elastic/migrate.h"

#include "boot/boot.h"
#include "boot/launcher_wire.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "dynamic/launcher_call.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "obj/comm.h"
#include "obj/group.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum pli_err ask(struct pli_comm *comm, int rank, const char *host,
                        struct pli_answer *answer)
{
    struct pli_ask_migrate want = { .together = PLI_MIGRATE_BY_PROCESS };
    if (rank < 0 || rank >= comm->group->size) {
        return pli_fail(PLI_ERR_RANK, "argument rank is %d, but comm has %d members", rank,
                        comm->group->size);
    }
    if (host == NULL || host[0] == '\0' || strlen(host) >= sizeof want.host) {
        return pli_fail(PLI_ERR_ARG, "argument host is not the name of a host");
    }
    want.rank = (uint32_t)pli_group_at(comm->group, rank).proc;
    snprintf(want.host, sizeof want.host, "%s", host);
    return pli_launcher_call(comm->ep->lane, PLI_ASK_MIGRATE, &want, sizeof want, answer);
}

enum pli_err pli_migrate_member(struct pli_comm *comm, int rank, const char *host)
{
    struct pli_answer answer = { 0 };
    enum pli_err err = PLI_OK;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "a move");
    }
    if (comm->rank == 0) {
        err = ask(comm, rank, host, &answer);
        answer.error = err != PLI_OK && answer.error == 0 ? -1 : answer.error;
        if (err != PLI_OK) {
            snprintf(answer.text, sizeof answer.text, "%.230s", pli_fail_take(NULL));
        }
        answer.first = (uint32_t)err;
    }
    enum pli_err told = pli_coll_bcast(&answer, sizeof answer, pli_comm_make_byte(), 0, comm);
    if (told != PLI_OK || answer.error == 0) {
        return told;
    }
    answer.text[sizeof answer.text - 1] = '\0';
    err = (enum pli_err)answer.first;
    return pli_fail(err != PLI_OK ? err : PLI_ERR_OTHER, "%s", answer.text);
}
