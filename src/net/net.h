// SPDX-License-Identifier: BSD-3-Clause
// The transport table. A transport brings messages from a lane of this process to a lane of another
// one. Whatever wants to talk to a peer calls the slots of its connection (struct pli_conn.ops) and
// does not ask which transport it has. Only the shortest way of a small message, a cell in a
// mailbox in shared memory, is inline and outside of this table (msg/fastpath.h, msg/eager.c).
#ifndef PLI_NET_NET_H
#define PLI_NET_NET_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_conn;
struct pli_lane;
struct pli_net_lane;
struct pli_request;
struct pli_shm_cell;
struct pli_unexpected;

// Context of all slots: lane locked, unless a slot says otherwise. Every slot is filled; net.c has
// what a transport without a part in something fills in.
struct pli_net_ops {
    const char *name;

    // The process and its lanes.
    enum pli_err (*open)(struct pli_lane *lane); // make its part of a lane, if the job needs it
    void (*leave)(struct pli_lane *lane);        // a forked process drops what is its parent's
    void (*finalize)(void);                      // the program called MPI_Finalize. No lock held
    // The process closes: called before the other processes are told, and once all was sent. No
    // lock held.
    void (*close)(bool is_over);

    // A connection. PLI_ERR_UNSUPPORTED: the process is reached by another transport, or not at
    // all; else the connection is ready, or the lookup fails. A transport that has its own way to
    // send closes the shortest one (pli_lane_disable_fastpath).
    enum pli_err (*connect)(struct pli_conn *c, uint64_t proc);
    bool (*disconnect)(struct pli_conn *c); // false: something is under way there

    // Sending. A send completes its request when the buffer may be used again.
    void (*start)(struct pli_request *r);  // begin a send, or queue it behind others
    void (*retry)(struct pli_conn *c);     // of a connection in lane->stalled: there may be room
    void (*cancel)(struct pli_request *r); // drop a send, or ask the receiver to forget it
    void (*note)(struct pli_conn *c, int kind, const uint64_t word[3]); // a short answer

    // Receiving. A large message was offered and its receive is known: fetch `want` bytes of it.
    void (*accept)(struct pli_request *recv, struct pli_conn *from, uint64_t want, uint64_t address,
                   uint32_t n_piece);
    // A kept message of a kind that only this transport knows meets its receive.
    void (*take)(struct pli_request *recv, struct pli_unexpected *p);
    // A cell of such a kind came. False: it is not one of this transport's.
    bool (*cell)(struct pli_lane *lane, const struct pli_shm_cell *cell);

    // Failures. Why an operation with the peer fails, PLI_OK: it need not. has_died: the launcher
    // has said so of its process.
    enum pli_err (*fate)(const struct pli_conn *c, bool has_died, bool is_send);
    void (*fail)(struct pli_conn *c, bool has_died); // withdraw what can never complete
};

// Why a lane is polled.
enum pli_net_poll {
    PLI_NET_POLL,     // nothing came through the mailbox
    PLI_NET_POLL_SHM, // something did: descriptors may be looked at less often
    PLI_NET_POLL_ALL, // what has come over any descriptor is to be had now
};

// The part of a lane that a transport with descriptors has. All lanes of a process have one, or
// none has: then lane->net is pli_net_none.
struct pli_net_lane_ops {
    int sleeps_by;      // enum pli_shm_sleep: what wakes a thread that sleeps at the lane
    uint32_t look_cost; // a poll takes as long as so many looks at the mailbox

    int (*poll)(struct pli_net_lane *net, enum pli_net_poll why); // how much was done
    // How often a blocking receive from this source may look at the mailbox alone, 0: never.
    uint32_t (*spins)(struct pli_net_lane *net, const struct pli_comm *comm, int source);
    void (*hold)(struct pli_net_lane *net, bool is_full); // tell senders to offer, or not to
    void (*bye)(struct pli_net_lane *net);                // tell the peers that this process leaves
    bool (*has_unsent)(struct pli_net_lane *net);         // something is still to go out
    bool (*is_busy)(struct pli_net_lane *net);            // it has to be polled: no long sleep
    // The processor that the process runs on from which messages come now, and its index in the
    // job; -1: it has another kernel, or that is not known. Context: no lock held.
    int (*peer_processor)(struct pli_net_lane *net, uint32_t *index_out);

    // Sleeping. Context: no lock held.
    void (*arm)(struct pli_net_lane *net); // a thread will sleep: have all descriptors wake it
    uint64_t (*sleep_limit)(struct pli_net_lane *net); // ns that a sleep may last, 0: without end
    // Sleep at these lanes until a descriptor is ready or `wakes` of the first has changed. True:
    // this thread waited for descriptors, and must wake the others before it goes its way.
    bool (*sleep)(struct pli_net_lane *const nets[], int n, int wakes, uint64_t timeout_ns);
    void (*wake)(struct pli_net_lane *net); // wake the threads that sleep at the lane. Any context

    // A checkpoint is made, or was. Context: pli_freeze_on_move.
    void (*freeze)(struct pli_net_lane *net, bool is_leaving);
};

// The head of what the transport has for a lane.
struct pli_net_lane {
    const struct pli_net_lane_ops *ops;
    struct pli_lane *lane;
    _Atomic int wakes; // threads sleep on this word, which changes when they should look
};

extern struct pli_net_lane pli_net_none; // of lanes without one

// For slots that a transport has no use for. Context: as the slot's.
enum pli_err pli_net_no_open(struct pli_lane *lane);
void pli_net_no_leave(struct pli_lane *lane);
void pli_net_no_finalize(void);
void pli_net_no_close(bool is_over);
void pli_net_no_retry(struct pli_conn *c);
void pli_net_no_accept(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                       uint64_t address, uint32_t n_piece);
void pli_net_no_take(struct pli_request *recv, struct pli_unexpected *p);
bool pli_net_no_cell(struct pli_lane *lane, const struct pli_shm_cell *cell);
void pli_net_no_fail(struct pli_conn *c, bool has_died);

#endif
