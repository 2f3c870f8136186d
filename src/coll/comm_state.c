// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys comm->coll, what collectives keep with a communicator.
#include "coll/comm_state.h"
#include "base/cpu.h"

#include "base/log.h"
#include "coll/board/board_life.h"

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

static void end(struct pli_comm *comm)
{
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
