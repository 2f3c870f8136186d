// SPDX-License-Identifier: BSD-3-Clause
// Lanes: the resources under endpoints. One mailbox and outbox in shared memory, one lock, one
// pool of requests. A process has one until endpoints ask for more.
#ifndef PLI_MSG_LANE_H
#define PLI_MSG_LANE_H

#include "base/list.h"
#include "base/lock.h"
#include "boot/node_wire.h"
#include "net/shm/shm.h"
#include "obj/group.h"
#include "obj/handle.h"

#include <stdbool.h>

struct pli_boot;
struct pli_comm;
struct pli_endpoint;
struct pli_net_lane;
struct pli_net_ops;
struct pli_lane;
struct pli_request;
struct pli_statistics;

// The connection to one lane of one process. Made at first contact. Guarded by the lane's lock.
struct pli_conn {
    uint64_t key; // process id << 3 | lane of theirs
    struct pli_lane *lane;
    struct pli_shm_peer shm;       // a mailbox that is always full, where they share no memory
    const struct pli_net_ops *ops; // of the transport that reaches the process
    uint32_t proc;                 // index in the job
    uint32_t as;                   // what the other side knows this process by: cells bear it
    uint8_t peer_lane;
    uint64_t mark;           // in offsets of blocks, for a peer of another job; 0 in this one
    struct pli_list pending; // sends that wait for room, in order
    struct pli_list notes;   // answers that wait for room
    struct pli_list stalled; // in lane->stalled while either is not empty
    uint64_t stalled_ns;     // since when the first of pending waits
    struct pli_conn *next;   // same hash
    void *net;               // what the transport has for it besides
    struct pli_list open;    // offers and receives under way, see request.h
    struct pli_list barrier; // in `pending` for ever when all sends are to go by ops->start
    bool is_dead;
    uint8_t memory;     // whether memory of the process may be read, 0: not tried; see cma.c
    uint64_t memory_ns; // when that was last found
};

// Something that wants to be called while the lane is polled: a nonblocking collective, a network.
// Returns how much it did. Context: lane locked.
struct pli_poller {
    struct pli_list link;
    int (*poll)(struct pli_poller *p);
};

// Something to be done soon by the thread that polls the lane, when the lock is dropped.
struct pli_task {
    struct pli_list link;
    void (*run)(struct pli_task *t); // context: no lock held; out of the list by then
    bool is_users;                   // calls functions of the program: not for the progress thread
};

enum { PLI_LANE_CACHE = 32 };

struct pli_lane {
    struct pli_lock lock;
    int index;
    uint64_t proc;                     // my process id
    uint64_t fast_end, coll_fast_end;  // messages below this size may take the shortest way
    struct pli_statistics *statistics; // NULL: no tool asks for counts
    struct pli_shm shm;
    struct pli_conn *cache[PLI_LANE_CACHE]; // by low bits of the key
    struct pli_conn **conns;                // hash table, chained
    uint32_t n_conn, n_bucket;
    uint32_t n_dead;           // reasons for which an operation may never complete: see failure.h
    uint64_t hole_at, hole_ns; // a place in the mailbox that stays empty, and since when
    uint64_t reclaim_ns;       // when blocks that dead processes held were last looked for
    struct pli_handle_pool requests;
    struct pli_list streams; // sends whose data goes out in pieces, receives that read later
    uint32_t n_offer;        // sends that were offered and may be read, see cma.c
    uint32_t n_copy;         // requests of copies of small data, see eager.c
    uint8_t both_left;       // large messages for which data counts as going both ways
    bool is_posting;         // a nonblocking receive begins that finds its message
    struct pli_list stalled; // conns with something pending
    struct pli_list pollers, tasks;
    struct pli_net_lane *net;    // what a transport has for the lane, else pli_net_none
    struct pli_net_lane *polled; // the same; NULL: there is nothing to poll
    struct pli_request *dead;    // freed by the user, now over
    struct pli_endpoint ***eps;  // by index >> 3, in chunks that come and go
    uint32_t n_chunk;
    size_t held;              // bytes of unexpected data kept
    bool is_full;             // told the others to hold back
    _Atomic uint32_t n_sleep; // threads asleep on the mailbox; changed with the lock held
    _Atomic uint32_t n_poll;  // polls so far; changed with the lock held
    _Atomic uint32_t n_wait;  // threads in a waiting loop that look after this lane
    _Atomic uint32_t n_free;  // endpoints no thread is attached to, or gone with something unsent
};

// The process. Filled at start; `lanes` grow when endpoints ask and never shrink.
struct pli_proc {
    struct pli_boot *boot;
    const struct pli_net_ops *const *nets; // the transports, ends with NULL
    uint64_t id;
    struct pli_lane *_Atomic lanes[PLI_NODE_N_LANE];
    _Atomic int n_open;           // lanes that are open
    _Atomic int n_oversubscribed; // reasons to give way at once: more ranks than cores
    _Atomic int n_attached;       // endpoints that a thread is attached to
    bool is_multiple;             // the program asked for MPI_THREAD_MULTIPLE
};
extern struct pli_proc pli_proc;

static inline bool pli_lane_is_oversubscribed(void)
{
    return atomic_load_explicit(&pli_proc.n_oversubscribed, memory_order_relaxed) != 0;
}

// Endpoints of each lane that the calling thread is attached to.
extern _Thread_local uint32_t pli_lane_attached[PLI_NODE_N_LANE];

// Open a lane: idempotent, local. Context: any thread.
enum pli_err pli_lane_open(int index, struct pli_lane **out);

// In a process that was forked: the lane forgets all connections; then it gets memory of its own,
// and pli_endpoint_clone follows.
void pli_lane_leave(struct pli_lane *lane);
enum pli_err pli_lane_clone(struct pli_lane *lane);

// Whether a process that has not ended, as far as is known, has yet to be sent something;
// is_leaving: or to fetch a copy of small data. Context: lane locked.
bool pli_lane_has_unsent(const struct pli_lane *lane, bool is_leaving);

// The part of pli_lane_wake for a lane with descriptors.
void pli_lane_wake_net(struct pli_lane *lane);

// Wake threads that sleep at the lane: something they may wait for was done by another thread.
static inline void pli_lane_wake(struct pli_lane *lane)
{
    if (pli_lock_threads) {
        pli_shm_wake(lane->shm.box); // the thread that goes to sleep pays for the fence
        if (lane->polled != NULL) {
            pli_lane_wake_net(lane);
        }
    }
}

// Find both again: a setting has changed, or counting has begun or ended. Context: lane locked.
void pli_lane_set_fast(struct pli_lane *lane);

// Leave a task to the thread that polls the lane. Context: lane locked.
void pli_lane_defer(struct pli_lane *lane, struct pli_task *t);

// The slow half of pli_lane_conn: make or find it. NULL: no memory, or no such process.
struct pli_conn *pli_lane_conn_find(struct pli_lane *lane, uint64_t key);

// The slot of a connection in the cache: processes side by side, and their lanes apart.
static inline uint32_t pli_lane_slot(uint64_t key)
{
    return (uint32_t)(key >> 3 ^ key << 2) % PLI_LANE_CACHE;
}

// The connection to an endpoint of another lane. Context: lane locked.
static inline struct pli_conn *pli_lane_conn(struct pli_lane *lane, struct pli_id id)
{
    uint64_t key = id.proc << 3 | (id.ep & (PLI_NODE_N_LANE - 1));
    struct pli_conn *c = lane->cache[pli_lane_slot(key)];
    return c != NULL && c->key == key ? c : pli_lane_conn_find(lane, key);
}

// Whether the endpoint is on this very lane. What is not has a mailbox of its own.
static inline bool pli_lane_is_own(const struct pli_lane *lane, struct pli_id id)
{
    return id.proc == lane->proc && id.ep % PLI_NODE_N_LANE == (uint32_t)lane->index;
}

// Whether a connection leads to another lane of this process. A key has lost the top bits of the
// id.
static inline bool pli_lane_is_within(const struct pli_lane *lane, const struct pli_conn *c)
{
    return (c->key ^ lane->proc << 3) < PLI_NODE_N_LANE;
}

// Send a short answer of three words. Context: lane locked.
void pli_lane_note(struct pli_conn *c, int kind, uint64_t w0, uint64_t w1, uint64_t w2);

// All sends go by ops->start from now on; the fast path sees that something is pending.
static inline void pli_lane_disable_fastpath(struct pli_conn *c)
{
    pli_list_push(&c->pending, &c->barrier);
}

enum { PLI_LANE_CHUNK = 256 };

// The endpoint an index names, or NULL. Context: lane locked.
static inline struct pli_endpoint *pli_lane_ep(const struct pli_lane *lane, uint32_t ep)
{
    uint32_t i = ep / PLI_NODE_N_LANE, chunk = i / PLI_LANE_CHUNK;
    return chunk < lane->n_chunk && lane->eps[chunk] != NULL ? lane->eps[chunk][i % PLI_LANE_CHUNK]
                                                             : NULL;
}

#endif
