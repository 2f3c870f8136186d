// SPDX-License-Identifier: BSD-3-Clause
// Large messages between processes of a host in one copy: the receiver reads the sender's buffer,
// and a sender that waits meanwhile writes part of it to the receiver's.
#ifndef PLI_MSG_CMA_H
#define PLI_MSG_CMA_H

#include "msg/lane.h"
#include "msg/request.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_shm_cell;

// Context of all: lane locked.

// Say in an offer where the data is, for receivers that may read it.
void pli_cma_offer(struct pli_request *send, struct pli_shm_cell *cell);

// The send is over, or taken back.
static inline void pli_cma_offer_end(struct pli_request *send)
{
    if ((send->state & PLI_REQ_OFFERED) != 0) {
        send->state &= (uint16_t)~PLI_REQ_OFFERED;
        send->lane->n_offer--;
    }
}

enum pli_cma_result {
    PLI_CMA_FAILED,    // not all is there, or nothing was tried: the data has to come in blocks
    PLI_CMA_DONE,      // all is there
    PLI_CMA_LATER,     // nothing was tried: ask again when the program waits
    PLI_CMA_UNDER_WAY, // the other side has the rest of it, and will say what became of it
};

// Fetch `want` bytes of a message that was offered.
enum pli_cma_result pli_cma_accept(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                                   uint64_t address, uint32_t n_piece);
// Copy part of a message for its receiver, which asked for it (HELP_WRITE): the copy is described
// in a block. *recv_out: the receiver's request.
enum pli_cma_result pli_cma_help(struct pli_lane *lane, struct pli_conn *to, uint64_t where,
                                 uint64_t *recv_out);

#endif
