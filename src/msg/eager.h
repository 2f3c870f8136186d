// SPDX-License-Identifier: BSD-3-Clause
// Sends the first cell of a message to a process that shares memory with this one.
#ifndef PLI_MSG_EAGER_H
#define PLI_MSG_EAGER_H

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_request;

// Begin a send to another process: eager, synchronous or by handshake; queued when there is no
// room. The request is done at once when the data is on its way. Context of all: lane locked.
void pli_eager_start(struct pli_request *r);
// The slots of the transport table for shared memory: queue a send behind others; there may be room
// now, for answers (true: none is left) and sends; send a short answer (pli_lane_note for any
// connection).
void pli_eager_queue(struct pli_request *r);
bool pli_eager_retry_notes(struct pli_conn *c);
void pli_eager_retry(struct pli_conn *c);
void pli_eager_note(struct pli_conn *c, int kind, const uint64_t word[3]);

#endif
