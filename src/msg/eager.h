// SPDX-License-Identifier: BSD-3-Clause
// Sends the first cell of a message to a process that shares memory with this one.
#ifndef PLI_MSG_EAGER_H
#define PLI_MSG_EAGER_H

#include "base/conf.h"
#include "obj/comm.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_lane;
struct pli_request;

// Largest message that goes without a handshake. In a collective many ranks copy at a time and wait
// for each other: there a handshake costs more than the second copy, also where a single message is
// faster by one copy of the kernel.
static inline uint64_t pli_eager_max(enum pli_chan chan)
{
    return (uint64_t)(chan == PLI_CHAN_COLL ? pli_conf.coll_eager_max : pli_conf.eager_max);
}

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

// In a process that was forked: its parent has the copies of what sends had that are done.
void pli_eager_drop_copies(struct pli_lane *lane);

#endif
