// SPDX-License-Identifier: BSD-3-Clause
// A connection between mpiexec and a daemon, or between two daemons: frames both ways.
#ifndef PLI_LAUNCHER_DLINK_H
#define PLI_LAUNCHER_DLINK_H

#include "base/protect.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/base/loop.h"
#include "launcher/base/pack.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_dlink {
    struct pli_watch watch;
    void (*hear)(struct pli_dlink *l, const struct pli_dframe *f);
    void (*lost)(struct pli_dlink *l, const char *why); // the link is closed already
    struct pli_pack in, out;
    size_t out_head;
    struct pli_protect seal, open; // what is sent, what is received
    struct pli_dlink_head head;    // of a frame whose body is still to come
    bool has_head;
    uint32_t host; // at the other end
};

// Take over a connected socket whose ends have shaken hands; hear and lost have been set. A peer
// that falls silent for more than a few seconds is lost, and so is one whose frames were
// altered.
struct pli_daemon_handshake_keys;
void pli_dlink_open(struct pli_dlink *l, int fd, const struct pli_daemon_handshake_keys *keys);

// Never waits: what cannot be written now is kept. A closed link takes nothing.
void pli_dlink_send(struct pli_dlink *l, const struct pli_dframe *f);

// Write all that is kept, within this time.
void pli_dlink_drain(struct pli_dlink *l, int ms);
void pli_dlink_close(struct pli_dlink *l);

// Another struct has the connection from now on, with its own hear and lost. Context: a timer, not
// while it is heard.
void pli_dlink_hand(struct pli_dlink *to, struct pli_dlink *from);

#endif
