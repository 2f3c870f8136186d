// SPDX-License-Identifier: BSD-3-Clause
// Messages of a TCP connection that go by UCX. The TCP connection comes first and stays: over it
// both sides prove who they are and tell each other the addresses of their workers, and when it
// ends the other side is gone. All else, once the workers have met, is active messages of UCX, with
// the same heads as the frames of the connection. All of this is guarded by the lane's lock, unless
// a function says otherwise.
#ifndef PLI_NET_UCX_CONN_H
#define PLI_NET_UCX_CONN_H

#include "base/err.h"
#include "base/list.h"
#include "net/tcp/frame_wire.h"
#include "net/ucx/ucx.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_tcp_bypass_ops;
struct pli_tcp_conn;
struct pli_tcp_lane;
struct pli_request;

// The worker of a lane.
struct pli_ucx_worker {
    struct pli_tcp_lane *net;
    struct pli_ucx *ucx; // NULL: UCX was left
    bool is_quiescing;   // it is being left, or was: see ucx_quiesce.c
    bool is_given_up;    // it could not be had again
    bool may_register;   // memory: the job makes no checkpoint and survives no failure
    bool is_required;    // the user asked for UCX: nothing else will do
    char *address;
    size_t n_address;
    struct pli_tcp_conn **slots;  // by place, which a message names
    uint32_t n_slot, n_free_slot; // spare ones are NULL
    uint32_t n_connected;         // connections that use it
    uint32_t n_wait;              // connections that wait for the other side's address
    uint32_t n_op;                // operations under way
    struct pli_list streams;      // sends whose data goes out in pieces
    struct pli_list free;         // operations to be used again
    uint32_t n_region;            // that UCX reaches far memory for: it cannot be left
};

enum pli_ucx_conn_phase {
    PLI_UCX_CONN_OPEN,    // messages go by UCX, as soon as both have met
    PLI_UCX_CONN_LEAVING, // mine go over the connection; some of before may be under way
    PLI_UCX_CONN_CLOSED,  // both sides' do, and nothing is under way
};

struct pli_ucx_conn {
    struct pli_ucx_worker *lane;
    enum pli_ucx_conn_phase phase;
    bool is_initiator;    // it was this side that began to leave
    bool is_peer_leaving; // the other side leaves, too, and has sent away_at messages
    bool has_caught_up;   // all of them are here
    bool has_peer_left;   // the other side has all of mine, and nothing under way
    bool has_said_left;   // so have I
    bool is_reconnect;    // messages went over the connection before this meeting,
    bool is_peer_ready; // and all of them are there: the other side has read my address behind them
    uint64_t n_before_leave;
    struct pli_ucx_peer *peer; // NULL: the other side's address is not known yet
    bool is_refused;           // the other side has no worker, or there is no way to it: TCP
    bool is_address_sent;      // my address is out
    bool is_waiting;           // for the other side's
    bool has_bye, is_broken;
    uint32_t slot, their_slot;
    uint64_t key, their_key; // what must be in messages to me, and in mine
    uint64_t n_out, n_in;    // messages so far
    uint64_t bye_at;         // the other side sent so many before it left
    uint64_t n_sent, n_asked_for,
        n_seen; // of mine that matter: sent, asked about, and known to be there
    uint64_t broken_ns;
    char why[120];          // it is broken
    struct pli_list ops;    // under way
    struct pli_list notes;  // wait until the workers have met
    uint32_t n_access;      // accesses to memory that are not over
    struct pli_list failed; // those that failed: they end with the connection
};

// Make the worker of a lane, if the job's messages are to go by UCX; fails when it cannot be had
// and the user wants nothing else.
enum pli_err pli_ucx_conn_open(struct pli_tcp_lane *net);
enum pli_err pli_ucx_conn_start_worker(struct pli_ucx_worker *u);
void pli_ucx_conn_stop_worker(struct pli_ucx_worker *u); // no connection may use it

static inline void pli_ucx_conn_set_waiting(struct pli_ucx_conn *x, bool is_waiting)
{
    x->lane->n_wait += (uint32_t)is_waiting - (uint32_t)x->is_waiting;
    x->is_waiting = is_waiting;
}

extern const struct pli_tcp_bypass_ops pli_ucx_conn_bypass;
void pli_ucx_conn_leave(struct pli_tcp_conn *tc); // what has waited goes over the connection
void pli_ucx_conn_start(struct pli_request *r);
void pli_ucx_conn_note(struct pli_tcp_conn *tc, int kind, uint64_t w0, uint64_t w1, uint64_t w2);
void pli_ucx_conn_push(struct pli_tcp_conn *tc); // the workers have met: what has waited goes out

// Access to the other side's memory, in no order with anything else; a flush ends when all puts
// before it are there.
struct pli_ucx_conn_access {
    enum { PLI_UCX_CONN_PUT, PLI_UCX_CONN_GET, PLI_UCX_CONN_ATOMIC, PLI_UCX_CONN_FLUSH } kind;
    enum pli_ucx_atomic atomic;
    void *mine; // the data here; ATOMIC: the old value
    const void *operand;
    uint64_t n;  // bytes
    uint64_t at; // where in the memory of the other process
    struct pli_ucx_key *key;
};
// Begin one, which completes the request. False: UCX has no way there, or no more.
bool pli_ucx_conn_access(struct pli_tcp_conn *tc, struct pli_request *r,
                         const struct pli_ucx_conn_access *a);

// What is before the data of an active message.
struct pli_ucx_head {
    uint32_t slot, spare;
    uint64_t key;
    struct pli_frame frame;
};
_Static_assert(sizeof(struct pli_ucx_head) == 64, "crosses the network");

#endif
