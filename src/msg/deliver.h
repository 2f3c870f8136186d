// SPDX-License-Identifier: BSD-3-Clause
// Brings a message that has arrived to its receive, or keeps it until the receive is posted.
#ifndef PLI_MSG_DELIVER_H
#define PLI_MSG_DELIVER_H

#include "msg/msg_wire.h"
#include "net/shm/shm.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_lane;
struct pli_request;
struct pli_unexpected;

// Context of all: lane locked.

// A cell with the head of a message came.
void pli_deliver_cell(struct pli_lane *lane, const struct pli_shm_cell *cell);
// Places in the mailbox that the message of a cell takes.
static inline uint32_t pli_deliver_n_cell(const struct pli_shm_cell *cell)
{
    return __builtin_expect((cell->flags & PLI_MSG_HAS_ROW) != 0, 0) ? pli_shm_n_cell(cell->size)
                                                                     : 1;
}
// The receive of a kept message was found; the message is freed.
void pli_deliver_unexpected(struct pli_request *recv, struct pli_unexpected *p);

void pli_deliver_deliver(struct pli_request *recv, const void *data, uint64_t size);
// The same, and the offer of a large message, for data of which a form is known: see packed.h.
void pli_deliver_take(struct pli_request *recv, const void *data, uint64_t size, uint8_t form);
void pli_deliver_offer(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                       uint64_t size, uint64_t address, uint32_t n_piece, uint8_t form);

// Whether data of that form may be read straight into the receive's buffer.
bool pli_deliver_fits(const struct pli_request *recv, uint8_t form);

#endif
