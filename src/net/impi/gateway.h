// SPDX-License-Identifier: BSD-3-Clause
// The way to processes of other MPI jobs of an IMPI job: through the mailbox of the agent, in
// external32. Data that does not fit a block goes through the gateway's memory, where the agent
// sends it from and receives it to. [docs/design/impi.md]
#ifndef PLI_NET_GATEWAY_H
#define PLI_NET_GATEWAY_H

#include "base/list.h"
#include "obj/comm.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_lane;
struct pli_request;
struct pli_shm_cell;

// What a connection has besides when it goes through the agent.
struct pli_gateway_conn {
    struct pli_list wait;    // sends that wait for room in the agent's mailbox, in order
    struct pli_list barrier; // among the connection's pending ones for ever: no short cut here
};

// Whether the process is one of another MPI job.
bool pli_gateway_has(uint32_t proc);

// Whether messages of this rank of a communicator that spans jobs come through the agent.
bool pli_gateway_is_beyond(const struct pli_comm *comm, int rank);

// The same for any communicator: then there is nothing to look for impatiently.
static inline bool pli_gateway_is_far(const struct pli_comm *comm, int rank)
{
    return __builtin_expect(comm->is_span, 0) && pli_gateway_is_beyond(comm, rank);
}

// All of these: context: lane locked.

bool pli_gateway_open(struct pli_conn *c);        // false: no memory
void pli_gateway_start(struct pli_request *send); // begin a send
void pli_gateway_retry(struct pli_conn *c);       // there may be room now
void pli_gateway_cell(struct pli_lane *lane, const struct pli_shm_cell *cell);

// Tell the agent that this process has finalized. Context: no lock held.
void pli_gateway_bye(void);

#endif
