// SPDX-License-Identifier: BSD-3-Clause
// Requests: one operation under way. Made from the pool of the lane of its endpoint, or on the
// stack for blocking calls.
#ifndef PLI_MSG_REQUEST_H
#define PLI_MSG_REQUEST_H

#include "base/err.h"
#include "base/list.h"
#include "msg/match.h"
#include "obj/handle.h"

#include <mpi.h>
#include <stdbool.h>

struct iovec;
struct pli_comm;
struct pli_conn;
struct pli_cursor;
struct pli_datatype;
struct pli_lane;
struct pli_request;

// What differs between kinds of request. Every slot is filled.
struct pli_request_ops {
    const char *name; // "send", for messages
    bool has_peer;    // a send or a receive, which waits for one rank or a wildcard
    // Begin (again) a persistent request; the request is active when called.
    enum pli_err (*start)(struct pli_request *r);
    // Try to cancel; completion follows in any case. Context: no lock held.
    enum pli_err (*cancel)(struct pli_request *r);
    // The user got the result: last word on the status. Context: no lock held.
    enum pli_err (*finish)(struct pli_request *r, MPI_Status *status);
    // Free what hangs off the request when it is destroyed.
    void (*clean)(struct pli_request *r);
    // The MPI function of a collective, its root or -1, and its number on the communicator or 0:
    // for the record of a long wait. NULL: the name above. Context: lane locked.
    const char *(*call)(const struct pli_request *r, int *root, int *number);
};

// What the owner of the request knows and sets.
enum pli_request_flag {
    PLI_REQ_PERSISTENT = 1,
    PLI_REQ_ACTIVE = 2, // started and not yet reported to the user
    PLI_REQ_SEND = 4,
    PLI_REQ_SYNC = 8,         // synchronous send
    PLI_REQ_STACK = 16,       // of a blocking call: never in the pool
    PLI_REQ_OWNS_BUFFER = 32, // buf is ours
    PLI_REQ_NO_STATUS = 64,   // empty status in any case
    PLI_REQ_CHILD = 128,      // the head of a struct pli_request_child
    PLI_REQ_BLOCKING = 256,   // of a call that waits for it at once
    PLI_REQ_LATE = 512,       // a copy of what a send had that is done: see eager.c
    PLI_REQ_ROOTED = 1024,    // the other side takes from several ranks, or gives to them
};

// What happens to it; guarded by the lane's lock until it is done.
enum pli_request_state {
    PLI_REQ_POSTED = 1,      // a receive in the match table
    PLI_REQ_CANCELLED = 2,   // the result is a cancellation
    PLI_REQ_CANCELLING = 4,  // the receiver was asked to forget it
    PLI_REQ_MATCHED = 8,     // a send whose receive was found while it was being cancelled
    PLI_REQ_FREED = 16,      // the user freed it; it goes when it is done
    PLI_REQ_EXTERNAL = 32,   // a receive whose bytes count in external32
    PLI_REQ_ASKED = 64,      // a send over a network whose data the receiver has asked for
    PLI_REQ_OPEN = 128,      // in the list of its conn, see failure.h
    PLI_REQ_WITHDRAWN = 256, // withdrawn, but the other side may still name it
    PLI_REQ_OFFERED = 1024,  // a send that is counted in lane->n_offer
    PLI_REQ_COPY = 512,      // a receive whose copy is measured: copy_select.h
    PLI_REQ_COPY_WAY = 2048, // times its enum pli_copy_way, in two bits
    PLI_REQ_LOGGED = 8192,   // a receive whose message will be written down: message_log.h
};

struct pli_request {
    struct pli_obj obj;
    struct pli_match_item item; // a receive: its place in the match table; a send: what it says
    // second line
    _Atomic uint16_t is_done;
    uint16_t flags;
    int16_t err; // enum pli_err of the result
    uint16_t state;
    const struct pli_request_ops *ops;
    struct pli_lane *lane;
    struct pli_comm *comm; // a reference is held while it is not on the stack
    void *buf;
    MPI_Count count;
    struct pli_datatype *type;
    uint64_t size; // of the data: what is sent, or the room to receive
    // third line
    struct pli_conn *conn;         // to or from the peer
    uint64_t remote;               // the other side's request
    uint64_t moved;                // bytes so far
    union {                        // of layouts with holes, from malloc or NULL
        struct pli_cursor *cursor; // where a transfer in pieces is
        struct iovec *pieces;      // an offer: where the data is, until the receiver answers
    };
    struct pli_list link; // in one list of its conn or lane
    int32_t source, tag;  // of the message received; a send: source is the rank it goes to
    union {
        uint64_t bytes; // received; a truncated message's full size
        void *ext;      // generalized, partitioned, collective requests
    };
};
_Static_assert(sizeof(struct pli_request) <= 192, "a request is three cache lines");

// A request inside a larger operation, in memory of its own: it is told when it is over, and may
// then be used again or go. Context of done: lane locked.
struct pli_request_child {
    struct pli_request r;
    void (*done)(struct pli_request_child *c);
};

// From the lane's pool, empty but for header and lane; item, source, tag, moved and remote are
// whatever they were. Context: lane locked. NULL: no memory.
struct pli_request *pli_request_create(struct pli_lane *lane);
// Give it back; releases comm, datatype, buffer. Context: no lock held.
void pli_request_destroy(struct pli_request *r);

// A reference to the communicator for a request. Those of requests that ended are kept and used
// again, because to count them is an atomic operation. Context: the endpoint's lane locked.
void pli_request_hold(struct pli_comm *c);
// Destroy the freed requests that have ended. Context: no lock held.
void pli_request_reap(struct pli_lane *lane);
// The user has no more interest: it goes when it is done. Context: no lock held.
void pli_request_forget(struct pli_request *r);

// The operation is over. A request that was freed is destroyed. Context: lane locked.
void pli_request_complete(struct pli_request *r, enum pli_err err);

// Operations may be withdrawn, because the job survives failures: see failure.h. Set at start-up.
extern bool pli_request_may_be_withdrawn;
// An offer that was made, or asked for, is in the list of its connection then, until it is over.
// Context: lane locked.
void pli_request_list(struct pli_request *r) __attribute__((cold));
void pli_request_unlist(struct pli_request *r) __attribute__((cold));

static inline void pli_request_track(struct pli_request *r)
{
    if (__builtin_expect(pli_request_may_be_withdrawn, 0)) {
        pli_request_list(r);
    }
}

static inline void pli_request_untrack(struct pli_request *r)
{
    if (__builtin_expect((r->state & PLI_REQ_OPEN) != 0, 0)) {
        pli_request_unlist(r);
    }
}

static inline bool pli_request_is_done(const struct pli_request *r)
{
    return atomic_load_explicit(&r->is_done, memory_order_acquire) != 0;
}

// Report a done request to the user: fill the status, call ops->finish, deactivate or destroy.
// *is_gone_out: the handle became MPI_REQUEST_NULL. Returns the operation's own result, its
// sentence noted with pli_fail. Context: no lock held.
enum pli_err pli_request_report(struct pli_request *r, MPI_Status *status, bool *is_gone_out);

// Defaults for the slots of an ops table.
enum pli_err pli_request_no_start(struct pli_request *r);
enum pli_err pli_request_no_cancel(struct pli_request *r);
enum pli_err pli_request_plain_finish(struct pli_request *r, MPI_Status *status);
void pli_request_plain_clean(struct pli_request *r);

#endif
