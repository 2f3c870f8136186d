// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys comm->coll, what collectives keep with a communicator.
#include "coll/comm_state.h"
#include "base/cpu.h"

#include "base/log.h"
#include "coll/board/board_life.h"
#include "coll/sched.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/match.h"
#include "msg/request.h"
#include "obj/comm.h"

#include <stdlib.h>

static struct pli_coll *state_of(struct pli_comm *comm)
{
    if (comm->coll == NULL) {
        comm->coll = calloc(1, sizeof *comm->coll);
        if (comm->coll == NULL || (comm->coll->hosts = pli_hostmap_open(comm)) == NULL) {
            // The other members choose by facts that this one cannot know, and it cannot warn them.
            pli_log(PLI_ERROR, "no memory for the collectives of a communicator");
            abort();
        }
    }
    return comm->coll;
}

struct pli_board *pli_comm_state_board_slow(struct pli_comm *comm)
{
    if (!pli_board_life_is_worth(comm)) {
        return NULL;
    }
    struct pli_coll *c = state_of(comm);
    c->has_board = true;
    if (c->hosts->n_host == 1) {
        c->here = c->board = pli_board_life_make(comm, c->hosts);
    }
    return c->board;
}

const struct pli_hostmap *pli_comm_state_hosts(struct pli_comm *comm)
{
    return state_of(comm)->hosts;
}

// Messages of collectives that no call of this rank has taken: no rank may have waited for another
// one, so nobody else noticed that the calls differ.
static void warn_of_leftover(struct pli_comm *comm)
{
    struct pli_match *m = &comm->ep->match;
    if (comm->is_span || pli_request_may_be_withdrawn) {
        return;
    }
    pli_lock_take(&comm->ep->lane->lock);
    const struct pli_match_item *i = pli_match_has_unexpected(m) ? m->arrival.first : NULL;
    // Notes of mpiexec --check go the same way, with tags below zero.
    while (i != NULL && (i->context != (comm->context | PLI_CHAN_COLL) || i->tag < 0)) {
        i = i->later;
    }
    int source = i != NULL ? i->source : -1, tag = i != NULL ? i->tag : 0;
    pli_lock_drop(&comm->ep->lane->lock);
    if (source >= 0) {
        char call[PLI_SCHED_CALL];
        pli_log(PLI_WARN,
                "rank %d called %s on %s, which this rank did not: collective calls must be the "
                "same in all ranks",
                source, pli_sched_say_tag(comm, tag, call), pli_comm_say(comm));
    }
}

static void end(struct pli_comm *comm)
{
    warn_of_leftover(comm);
    if (comm->coll != NULL) {
        pli_board_life_end(comm->coll->here);
        pli_hostmap_close(comm->coll->hosts);
        free(comm->coll);
        comm->coll = NULL;
    }
}

void pli_comm_state_clone(struct pli_comm *comm)
{
    if (comm->coll != NULL) {
        pli_board_life_drop(comm->coll->here);
        pli_hostmap_close(comm->coll->hosts);
        free(comm->coll);
        comm->coll = NULL;
    }
}

PLI_START void pli_comm_state_init(void)
{
    pli_comm_on_end(end);
}
