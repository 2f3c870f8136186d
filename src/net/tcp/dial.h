// SPDX-License-Identifier: BSD-3-Clause
// Connects to another process: tries its host's addresses in turn and goes through the handshake, a
// step at a time and never waiting. The caller waits for the descriptor and says when to go on.
#ifndef PLI_NET_TCP_DIAL_H
#define PLI_NET_TCP_DIAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_dial;
struct pli_node_host;

struct pli_dial_call {
    const unsigned char *secret;      // of the job
    const struct pli_node_host *here; // both stay valid while it lasts
    const struct pli_node_host *there;
    const _Atomic uint32_t *moving; // host + 1 on which nobody is called now; or NULL
    uint32_t host;                  // the number of `there`
    uint16_t port;                  // of `there`
    bool is_slow;      // a process that may be busy answers: once connected there is no hurry
    uint32_t from, to; // processes, by their index
    uint8_t lane, to_lane;
    uint64_t timeout_ns;        // for each address
    void (*unwatch)(void *arg); // its descriptor is about to be closed; or NULL
    void *arg;
};

// Begin. Context of all: one thread at a time.
enum pli_err pli_dial_open(const struct pli_dial_call *call, struct pli_dial **out);
// NULL is fine. Its descriptor is not watched any more.
void pli_dial_close(struct pli_dial *d);

// Go on; at least once a second while a caller waits. After the caller was away for longer
// what failed meanwhile is begun again. PLI_OK: the connection stands, take it. PLI_AGAIN: not yet.
// Else no address leads there, and a sentence says what was tried.
enum pli_err pli_dial_step(struct pli_dial *d);

// What to wait for before the next step: a descriptor, and EPOLL events; and the moment after which
// to step in any case. No descriptor (-1): the other end was overrun, and is called again then.
int pli_dial_fd(const struct pli_dial *d);
uint32_t pli_dial_events(const struct pli_dial *d);
uint64_t pli_dial_until(const struct pli_dial *d);

// The connection, now the caller's, which does not watch it any more. It does not block, and is set
// up as pli_dial_tune does.
int pli_dial_take(struct pli_dial *d);
// And what protects it, where PLIANT_NET_PROTECT asks for that: keys to send, to receive.
void pli_dial_keys(const struct pli_dial *d, unsigned char keys_out[2][32]);

// Set up a connection for messages: no delays, and a peer whose host is gone is noticed although
// nothing is said, after so many seconds. Fails when it is no such connection.
enum pli_err pli_dial_tune(int fd, int timeout_s);
// Close a connection that either side made.
void pli_dial_end(int fd);

#endif
