// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous protocol: a large message is offered first, and moved when its receive is known.
#ifndef PLI_MSG_RNDV_H
#define PLI_MSG_RNDV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_lane;
struct pli_request;
struct pli_shm_cell;

// Context of all: lane locked.

// A receive takes an offer.
void pli_rndv_accept(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                     uint64_t size, uint64_t address, uint32_t n_piece);
// The same from a process that shares memory with this one: the slot of the transport table.
void pli_rndv_accept_near(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                          uint64_t address, uint32_t n_piece);
void pli_rndv_cell(struct pli_lane *lane, const struct pli_shm_cell *cell); // CTS, DATA, FIN, ...
// What RING messages are for: set by windows before others know of one. Context: lane locked.
typedef void (*pli_rndv_ring_fn)(struct pli_lane *lane, const struct pli_shm_cell *cell);
extern _Atomic(pli_rndv_ring_fn) pli_rndv_on_ring;
void pli_rndv_end_send(struct pli_request *send); // all was copied
int pli_rndv_push(struct pli_lane *lane);         // send pieces of all messages under way; how many
void pli_rndv_unsend(struct pli_request *send);   // ask the receiver to forget a message
void pli_rndv_unsent(struct pli_request *send, bool is_forgotten); // its answer
// The sender wants a message back; answers it.
void pli_rndv_forget(struct pli_lane *lane, struct pli_conn *from, uint64_t remote, uint32_t ep);
void pli_rndv_end_receive(struct pli_request *recv); // all of it is here
bool pli_rndv_make_cursor(struct pli_request *r);    // for a transfer in pieces; false: no memory
void pli_rndv_drop_cursor(struct pli_request *r);

#endif
