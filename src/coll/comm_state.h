// SPDX-License-Identifier: BSD-3-Clause
// What collectives know about a communicator: comm->coll, made at the first one.
#ifndef PLI_COLL_COMM_STATE_H
#define PLI_COLL_COMM_STATE_H

#include "coll/hostmap.h"
#include "obj/comm.h"

#include <stddef.h>

struct pli_board;

struct pli_coll {
    struct pli_hostmap *hosts;
    bool has_board;          // whether making one was tried
    struct pli_board *board; // NULL: the members share no host, or there is no memory for one
    struct pli_board *here;  // the same, or that of the members on this host (board_hosts.c)
    bool has_here;           // whether making one on every host was tried
    bool is_hosted;          // and all hosts have one
    bool has_no_half;        // a member had no memory for a larger window
    size_t half;             // windows that all hosts have
};

// All members call these at the same points of their collectives. Context: no lock held.
struct pli_board *pli_comm_state_board_slow(struct pli_comm *comm);

// The board of the communicator, or NULL.
static inline struct pli_board *pli_comm_state_board(struct pli_comm *comm)
{
    return comm->coll != NULL && comm->coll->has_board ? comm->coll->board
                                                       : pli_comm_state_board_slow(comm);
}

// The board that an operation meets on: of all members, or of those on this host. It is there.
static inline struct pli_board *pli_comm_state_here(const struct pli_comm *comm)
{
    return comm->coll->here;
}

// In a process that was forked: the next collective makes all anew, and what other processes see
// stays the parent's.
void pli_comm_state_clone(struct pli_comm *comm);

// Where the members are. Never NULL.
const struct pli_hostmap *pli_comm_state_hosts(struct pli_comm *comm);

// Have communicators drop what is kept here. Context: start-up only.
void pli_comm_state_init(void);

#endif
