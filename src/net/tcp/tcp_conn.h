// SPDX-License-Identifier: BSD-3-Clause
// The TCP connection to a lane of a process that shares no memory with this one, made when there is
// something to send, and what waits to be written to it. All of this is guarded by the
// lock of the lane it belongs to, and so are all functions, unless they say otherwise.
#ifndef PLI_NET_TCP_CONN_H
#define PLI_NET_TCP_CONN_H

#include "base/err.h"
#include "base/list.h"
#include "net/tcp/frame_wire.h"
#include "msg/lane.h"
#include "net/net.h"
#include "net/tcp/reqid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_dial;
struct pli_epollset;
struct pli_tcp_bypass_ops;
struct pli_ucx_worker; // net/ucx's
struct pli_ucx_conn;

// Something with a descriptor that the lane watches.
struct pli_fd_watch {
    int fd;            // -1: closed
    bool is_unwatched; // not in the epoll: looked at at every poll
    uint64_t key;      // in net->set, 0: it is not there
    void (*ready)(struct pli_fd_watch *e, uint32_t events);
    struct pli_tcp_lane *net;
};

// One connection, and the frame that is coming in over it.
struct pli_tcp_sock {
    struct pli_fd_watch watch; // first
    struct pli_list at; // in net->socks, or in net->dead until no caller can have it any more
    struct pli_tcp_conn *owner;
    bool is_armed;   // waits for room to write
    uint32_t n_head; // bytes of the head, while it is not complete
    struct pli_frame frame;
    uint64_t left;                     // bytes behind the head still to come
    char *to;                          // where they go; NULL: through recv's cursor, or nowhere
    struct pli_request *recv;          // for which receive, if that is known
    struct pli_unexpected *unexpected; // or kept aside here
    char *worker;                      // or the address of a worker
    char *deferred; // read, and to be looked at when the other connection has ended
    size_t n_deferred;
    struct pli_secure *secure; // NULL: as they are
};

enum pli_tcp_conn_state {
    PLI_TCP_CONN_IDLE,    // not connected: nothing was to be said
    PLI_TCP_CONN_DIALING, // being connected by us
    PLI_TCP_CONN_UP,
    PLI_TCP_CONN_LOST, // it broke; requests fail soon, unless the launcher ends the job first
    PLI_TCP_CONN_DEAD, // they did
    PLI_N_TCP_CONN_STATE
};

struct pli_tcp_conn {
    struct pli_conn *conn;
    struct pli_tcp_lane *net;
    enum pli_tcp_conn_state state;
    bool is_full;              // the other side wants offers only
    bool has_left;             // the other side said BYE: it may close the connection
    bool is_gone;              // it has done so: there is no process any more
    bool may_reconnect;        // lost between two frames: a connection that it made may still come
    bool is_write_closed;      // it takes no more; what it said before is still to be read
    bool is_unacked;           // what was written may not have arrived at the other host yet
    struct pli_tcp_sock *out;  // written to; others of this connection are only read
    struct pli_tcp_sock *old;  // made by the other side, which was asked to write to `out` instead
    struct pli_tcp_sock *next; // made by the other side, which asked us to write to it
    struct pli_list at;        // in net->conns
    uint32_t n_asked;          // receives whose data is to come
    struct pli_list busy;      // in net->busy while there is something to write
    struct pli_list pending;   // sends that wait, in order
    struct pli_list notes;     // answers to be written, before all else
    struct pli_list streams;   // sends whose receiver has asked for the data
    bool by_ucx;               // messages go by UCX, now or as soon as they can
    struct pli_ucx_conn *ucx;  // what UCX has for it; NULL: the lane does not use UCX
    struct pli_fd_watch dial_watch;
    struct pli_dial *dial;
    uint64_t lost_ns;
    uint64_t died_ns;  // its process died, and what it had sent is waited for; 0: it lives
    enum pli_err fate; // why requests fail, once it is dead
    char why[160];     // it was lost
    // The frame that is being written.
    struct pli_frame head;
    uint32_t head_left;
    const char *body;
    uint64_t body_left, body_len;
    char *bounce;            // packed data of a layout with holes
    struct pli_request *req; // the send it belongs to, NULL: a note
};

// The network side of a lane.
struct pli_tcp_lane {
    struct pli_net_lane base; // first
    struct pli_epollset *set;
    struct pli_fd_watch wake_sock, listener;
    struct pli_list conns, busy, socks, dead;
    struct pli_tcp_sock *active; // gave the last message
    uint32_t n_active;           // messages it gave in a row
    uint32_t n_look;             // since the last look at all of them
    uint32_t every, skip;        // look at sockets only every so many polls: shared memory is busy
    uint32_t n_sock, n_dial, n_lost;
    uint32_t n_dying; // connections whose process died, and which are not dead yet
    uint32_t n_quick; // receives since the last look that did not look here
    uint64_t checked_ns,
        starved_ns; // connections were; the listening socket needs a free descriptor since then
    bool is_scanned, has_backlog; // connections are gone through: destroy none; more calls wait
    _Atomic int must_look;        // any thread: do not rely on `hot`
    _Atomic int watcher;          // a thread sleeps on the descriptors
    char *read_buf;               // to read into
    struct pli_ucx_worker *ucx;   // NULL: it does not use UCX
    const struct pli_tcp_bypass_ops *bypass; // how to call UCX, where `ucx` is not NULL
    struct pli_reqid_table reqids;
};

// Make a connection for a conn that was just made. False: no memory.
bool pli_tcp_conn_create(struct pli_tcp_lane *net, struct pli_conn *c);
// Its end, when the other side has left and nothing is under way; false: not yet.
bool pli_tcp_conn_destroy(struct pli_tcp_conn *tc);
// Put a send on its way: all of the data when it is small, or the offer of it; cancel one that is
// not done.
void pli_tcp_conn_start(struct pli_request *r);
void pli_tcp_conn_unsend(struct pli_request *send);
// Write a note to the socket, even while messages go by UCX.
void pli_tcp_conn_note(struct pli_tcp_conn *tc, int kind, uint64_t w0, uint64_t w1, uint64_t w2);
// The receiver asks for `want` bytes of an offered send; its own id is in the frames.
void pli_tcp_conn_stream(struct pli_tcp_conn *tc, struct pli_request *send, uint64_t reqid,
                         uint64_t want, bool in_pieces);
// The data of a stream was sent.
void pli_tcp_conn_end_stream(struct pli_tcp_conn *tc, struct pli_request *send);
// Fill the head of the first frame of a send; true: the data goes with it.
bool pli_tcp_conn_fill_head(struct pli_tcp_conn *tc, struct pli_request *r, struct pli_frame *head);
// The next n bytes of a send, from byte `from`: where they are, or packed into *bounce_out.
const char *pli_tcp_conn_data(struct pli_request *r, uint64_t from, uint64_t n, char **bounce_out);
int pli_tcp_conn_push(struct pli_tcp_conn *tc); // write what can be written; how much was done
bool pli_tcp_conn_has_unsent(const struct pli_tcp_conn *tc);
// The other side has left in good order. What it would have kept and never read is done with, as in
// shared memory; false: something waits for an answer that will not come.
bool pli_tcp_conn_forget(struct pli_tcp_conn *tc);

#endif
