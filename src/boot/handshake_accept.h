// SPDX-License-Identifier: BSD-3-Clause
// A caller that has not proved yet that it belongs to the job: the listener's side of the
// handshake, a step at a time and never waiting. The listener waits for the descriptor and says
// when to go on.
#ifndef PLI_BOOT_HANDSHAKE_ACCEPT_H
#define PLI_BOOT_HANDSHAKE_ACCEPT_H

#include "base/err.h"
#include "boot/handshake.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_HANDSHAKE_ACCEPT_N = 256, // that a listener has at once, see pli_handshake_accept_room
    PLI_HANDSHAKE_ACCEPT_ROUND_MS = 2000, // for one that was answered to join, before it makes room
    PLI_HANDSHAKE_ACCEPT_TIMEOUT_MS =
        10000,                        // how long they may take: callers go on in MPI calls only
    PLI_HANDSHAKE_ACCEPT_AT_ONCE = 64 // calls to take between two looks at other events
};

struct pli_handshake_accept {
    int fd;                 // -1: nobody
    unsigned char from[16]; // its address; of IPv4 in the form that IPv6 has for it
    uint64_t since;         // clock
    bool is_asked;          // the reply was sent: the join is to come
    uint32_t n;             // bytes of what is to come next
    struct pli_handshake_open open;
    struct pli_handshake_reply reply;
    struct pli_handshake_join join;
};

// A place for one more among n callers, which are so many bytes apart. Where all places are taken
// one has to make room: first one that has said nothing yet; then one that was answered and has not
// joined in time. Of several that is the oldest of those from the address from where most come. The
// caller of this function closes the connection. NULL: none may be dropped now, so the next call
// has to wait in the system's queue.
struct pli_handshake_accept *pli_handshake_accept_room(struct pli_handshake_accept *first,
                                                       size_t step, int n);

// Take one call of a listening socket. False: there is none, and errno says why.
bool pli_handshake_accept_accept(int listener, struct pli_handshake_accept *out);

// Go on. PLI_OK: it belongs to the job, and `join` names it and the process that it wants.
// PLI_AGAIN: not yet. Else it is no good. The descriptor stays the caller's. Leaves no sentence.
enum pli_err pli_handshake_accept_step(struct pli_handshake_accept *s, const unsigned char *secret);

#endif
