// SPDX-License-Identifier: BSD-3-Clause
// Both sides of the handshake between mpiexec and its daemons; the caller moves the bytes.
#ifndef PLI_LAUNCHER_DAEMON_HANDSHAKE_H
#define PLI_LAUNCHER_DAEMON_HANDSHAKE_H

#include "base/protect.h"
#include "boot/node_wire.h"
#include "launcher/hosts/daemon_handshake_wire.h"

#include <stdbool.h>

// What both sides knew before: it came over ssh, or whatever starts daemons.
struct pli_daemon_handshake_known {
    unsigned char secret[PLI_DAEMON_HANDSHAKE_SECRET];
    unsigned char id[PLI_DAEMON_HANDSHAKE_ID]; // of the listener: no other has it
};

struct pli_daemon_handshake {
    struct pli_daemon_handshake_hello hello;
    struct pli_daemon_handshake_reply reply;
    struct pli_daemon_handshake_join join;
};

// What protects the connection afterwards, as seen from one of its ends.
struct pli_daemon_handshake_keys {
    enum pli_protect_suite suite;
    unsigned char send[PLI_PROTECT_KEY], receive[PLI_PROTECT_KEY];
};

// The caller: make h->hello, for a listener at this address. False: no random numbers.
bool pli_daemon_handshake_call(struct pli_daemon_handshake *h,
                               const struct pli_daemon_handshake_known *k, uint32_t host,
                               const struct pli_node_addr *to, uint16_t port);
// The caller: whether h->reply came from the listener of the job; then h->join is made.
bool pli_daemon_handshake_join(struct pli_daemon_handshake *h,
                               const struct pli_daemon_handshake_known *k,
                               struct pli_daemon_handshake_keys *keys_out);

// The listener: whether h->hello was made by a process of the job, for this listener; then h->reply
// is made. (An observer may have seen it and send it again: only the join is a proof.)
bool pli_daemon_handshake_reply(struct pli_daemon_handshake *h,
                                const struct pli_daemon_handshake_known *k);
// The listener: whether h->join is from the same.
bool pli_daemon_handshake_is_joined(const struct pli_daemon_handshake *h,
                                    const struct pli_daemon_handshake_known *k,
                                    struct pli_daemon_handshake_keys *keys_out);

#endif
