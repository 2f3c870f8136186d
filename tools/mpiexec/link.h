// SPDX-License-Identifier: BSD-3-Clause
// A connection between mpiexec and a daemon, or between two daemons: frames both ways.
#ifndef PLI_MPIEXEC_LINK_H
#define PLI_MPIEXEC_LINK_H

#include "link_wire.h"
#include "loop.h"
#include "pack.h"

#include <stddef.h>

struct pli_frame {
    uint16_t kind, flag;
    uint32_t host, a;
    const void *data;
    size_t len;
};

struct pli_link {
    struct pli_watch watch;
    void (*hear)(struct pli_link *l, const struct pli_frame *f);
    void (*lost)(struct pli_link *l, const char *why); // the link is closed already
    struct pli_pack in, out;
    size_t out_head;
    uint32_t host; // at the other end
};

// Take over a connected socket; hear and lost have been set. A peer that falls silent for more than
// a few seconds is lost.
void pli_link_open(struct pli_link *l, int fd);

// Never waits: what cannot be written now is kept. A closed link takes nothing.
void pli_link_send(struct pli_link *l, const struct pli_frame *f);

// Write all that is kept, within this time.
void pli_link_drain(struct pli_link *l, int ms);
void pli_link_close(struct pli_link *l);

// Another struct has the connection from now on, with its own hear and lost. Context: a timer, not
// while it is heard.
void pli_link_hand(struct pli_link *to, struct pli_link *from);

#endif
