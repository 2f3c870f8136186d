// SPDX-License-Identifier: BSD-3-Clause
// What TCP calls in a transport whose messages bypass the sockets (net/ucx). Such a transport has a
// TCP connection beside it, over which both sides prove who they are, exchange addresses and say
// that they leave; and its messages use the connection while the bypass is closed.
#ifndef PLI_NET_TCP_BYPASS_H
#define PLI_NET_TCP_BYPASS_H

#include <stdbool.h>
#include <stdint.h>

struct pli_frame;
struct pli_request;
struct pli_tcp_conn;
struct pli_tcp_lane;

// Context of all slots: lane locked, unless a slot says otherwise.
struct pli_tcp_bypass_ops {
    // Lanes.
    int (*poll)(struct pli_tcp_lane *net, bool must_look); // how much was done
    bool (*is_steady)(const struct pli_tcp_lane *net);     // peers are met: sockets need few looks
    bool (*is_busy)(const struct pli_tcp_lane *net);       // something is under way
    int (*fd)(const struct pli_tcp_lane *net);             // to sleep on; -1: none
    bool (*arm)(struct pli_tcp_lane *net);   // false: there is something to do. No lock held
    void (*thawed)(void);                    // the process goes on. Context: pli_freeze_on_move
    void (*leave)(struct pli_tcp_lane *net); // drop all of it in a forked process

    // Connections.
    bool (*create)(struct pli_tcp_conn *tc);  // false: no memory
    bool (*destroy)(struct pli_tcp_conn *tc); // false: something is under way
    // The address of this side is still to be written to the socket, and may be now; the body of
    // that frame. The other side's address came.
    bool (*has_address)(const struct pli_tcp_conn *tc);
    bool (*may_write_address)(const struct pli_tcp_conn *tc);
    const char *(*write_address)(struct pli_tcp_conn *tc, struct pli_frame *head);
    void (*connect)(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *address);
    bool (*closing)(struct pli_tcp_conn *tc, const struct pli_frame *f); // a frame about closing it

    // Sending.
    bool (*must_wait)(struct pli_tcp_lane *net); // a send must wait for the next poll
    void (*stream)(struct pli_tcp_conn *tc, struct pli_request *send, bool in_pieces);
    bool (*has_unsent)(const struct pli_tcp_conn *tc);
    bool (*is_unacked)(struct pli_tcp_conn *tc); // the peer may not have all; it is asked
    // Whether frames of the socket must wait for messages that went by the bypass before them.
    bool (*is_behind)(const struct pli_tcp_conn *tc);

    // The end.
    uint64_t (*bye)(struct pli_tcp_conn *tc); // this side leaves: how many messages it has sent
    bool (*peer_bye)(struct pli_tcp_conn *tc, uint64_t n); // so does the peer; true: all are here
    void (*finish)(
        struct pli_tcp_conn *tc); // the connection has ended: look for messages once more
    bool (*is_finished)(const struct pli_tcp_conn *tc);   // no message can come any more
    bool (*forget)(struct pli_tcp_conn *tc);              // drop notes; false: accesses are open
    void (*check)(struct pli_tcp_conn *tc, uint64_t now); // lose the connection if it is broken
    // A request is to be withdrawn; true: its memory is in use, and it is tried again later.
    bool (*is_in_use)(struct pli_tcp_conn *tc, struct pli_request *r);
    void (*unqueue)(struct pli_tcp_conn *tc, struct pli_request *r); // if it is in a queue
    void (*abandon)(struct pli_tcp_conn *tc); // nothing is under way any more when it returns
};

#endif
