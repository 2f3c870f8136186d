// SPDX-License-Identifier: BSD-3-Clause
// Endpoints: the things that send and receive. Small: a process may have very many.
#ifndef PLI_MSG_ENDPOINT_H
#define PLI_MSG_ENDPOINT_H

#include "base/err.h"
#include "boot/node_wire.h"
#include "msg/match.h"
#include "obj/group.h"

struct pli_bsend;
struct pli_comm;
struct pli_lane;

struct pli_endpoint {
    struct pli_id id;
    struct pli_lane *lane;
    struct pli_bsend *buffer; // for buffered sends, of threads that are attached
    void (*end_buffer)(struct pli_bsend *buffer);
    struct pli_match match; // guarded by the lane's lock
    _Atomic uint32_t refs;
    _Atomic uint32_t n_attached; // threads that said they use it
    bool is_crowding;            // one of more endpoints than there are cores
};

// Numbers for n endpoints that no other endpoint of this process ever had, spread over n_lane
// lanes: the i-th is pli_endpoint_nth(first, n_lane, i). Context: any thread.
enum pli_err pli_endpoint_number(uint32_t n, int n_lane, uint32_t *first_out);

static inline uint32_t pli_endpoint_nth(uint32_t first, int n_lane, uint32_t i)
{
    return n_lane == PLI_NODE_N_LANE
               ? first + i
               : first + i / (uint32_t)n_lane * PLI_NODE_N_LANE + i % (uint32_t)n_lane;
}

// The endpoint with this number; opens its lane. One reference. Context: any thread.
enum pli_err pli_endpoint_create(uint32_t number, struct pli_endpoint **out);
// The endpoint of this process with this number, with a reference; NULL: it is gone.
struct pli_endpoint *pli_endpoint_find(uint32_t number);
struct pli_endpoint *pli_endpoint_retain(struct pli_endpoint *ep);
void pli_endpoint_release(struct pli_endpoint *ep);

// This process was forked from another one: its endpoints are new ones that have received nothing.
// Context: after pli_lane_clone.
void pli_endpoint_clone(struct pli_lane *lane);

// This thread will use the endpoint: it looks after its lane whenever it waits. Counted. A thread
// that ends is detached.
enum pli_err pli_endpoint_attach(struct pli_endpoint *ep);
// False: no thread is attached.
bool pli_endpoint_detach(struct pli_endpoint *ep);
// The endpoint that the calling thread attached to last, with a reference; NULL: to none, or it is
// gone. For calls that name no object; never on a message's way.
struct pli_endpoint *pli_endpoint_mine(void);

// Keep no references for requests to come any more (pli_request_hold), for this is the end of the
// communicator as far as the user sees it. The caller has a reference of its own. Context: no lock
// held.
void pli_endpoint_settle(struct pli_comm *c);

#endif
