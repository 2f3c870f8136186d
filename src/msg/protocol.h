// SPDX-License-Identifier: BSD-3-Clause
// The protocols: how a send gets its data to a receive.
#ifndef PLI_MSG_PROTOCOL_H
#define PLI_MSG_PROTOCOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;
struct pli_conn;
struct pli_endpoint;
struct pli_lane;
struct pli_unexpected;
struct pli_request;
struct pli_shm_block;
struct pli_shm_cell;

// All of these: context: lane locked, unless said otherwise.

// eager.c: begin a send to another process: eager, synchronous or by handshake; queued when there
// is no room. The request is done at once when the data is on its way.
void pli_eager_start(struct pli_request *r);
// The slots of the transport table for shared memory: queue a send behind others; there may be room
// now, for notes (true: none is left) and sends; send a short answer (pli_lane_note for any
// connection).
void pli_eager_queue(struct pli_request *r);
bool pli_eager_retry_notes(struct pli_conn *c);
void pli_eager_retry(struct pli_conn *c);
void pli_eager_note(struct pli_conn *c, int kind, const uint64_t word[3]);

// deliver.c: a matched message of another process arrived, or found its receive later.
void pli_deliver_cell(struct pli_lane *lane, const struct pli_shm_cell *cell);
void pli_deliver_parcel(struct pli_request *recv, struct pli_unexpected *p); // frees the parcel
struct pli_unexpected *pli_deliver_parcel_create(struct pli_endpoint *ep, size_t data);
struct pli_unexpected *pli_deliver_parcel_of(struct pli_endpoint *ep, struct pli_conn *from,
                                             const struct pli_shm_cell *cell, size_t data);
// All of the message; the block it is in, if any, is given back.
void pli_deliver_fill(struct pli_unexpected *p, const void *data, struct pli_shm_block *block);
void pli_deliver_parcel_destroy(struct pli_unexpected *p);
void pli_deliver_hold(struct pli_lane *lane, size_t more); // count unexpected data
void pli_deliver_keep(struct pli_unexpected *p);           // no receive waits for it
void pli_deliver_deliver(struct pli_request *recv, const void *data, uint64_t size);
// The same, and the offer of a large message, for data of which a form is known: see packed.h.
void pli_deliver_take(struct pli_request *recv, const void *data, uint64_t size, uint8_t form);
void pli_deliver_offer(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                       uint64_t size, uint64_t address, uint32_t pid, uint8_t form);

// Whether data of that form may be read straight into the receive's buffer.
bool pli_deliver_fits(const struct pli_request *recv, uint8_t form);

// rndv.c: large messages.
void pli_rndv_accept(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                     uint64_t size, uint64_t address, uint32_t pid);
// The same from a process that shares memory with this one: the slot of the transport table.
void pli_rndv_accept_near(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                          uint64_t address, uint32_t pid);
void pli_rndv_cell(struct pli_lane *lane, const struct pli_shm_cell *cell); // CTS, DATA, FIN, ...
void pli_rndv_end_send(struct pli_request *send);                           // all was copied
int pli_rndv_pump(struct pli_lane *lane);       // push pieces of all sends under way
void pli_rndv_unsend(struct pli_request *send); // ask the receiver to forget a message
void pli_rndv_unsent(struct pli_request *send, bool is_forgotten); // its answer
// The sender wants a message back; answers it.
void pli_rndv_forget(struct pli_lane *lane, struct pli_conn *from, uint64_t remote, uint32_t ep);
void pli_rndv_end_receive(struct pli_request *recv); // all of it is here
bool pli_rndv_make_cursor(struct pli_request *r);    // for a transfer in pieces; false: no memory
void pli_rndv_drop_cursor(struct pli_request *r);

// local.c: between endpoints of one lane. Context: no lock held.
enum pli_err pli_local_start(struct pli_request *send, struct pli_endpoint *to);
// From buffer to buffer, as much as fits. Context: nobody else touches the two.
void pli_local_copy(const struct pli_request *send, struct pli_request *recv);
void pli_local_accept(struct pli_request *recv, struct pli_unexpected *p); // receiver's lane locked
bool pli_local_unsend(struct pli_request *send); // true: it was not matched and is forgotten

#endif
