// SPDX-License-Identifier: BSD-3-Clause
// A caller who has not proved yet that it belongs to the job: the listener's side of the greeting,
// a step at a time and never waiting. Who listens waits for the descriptor and says when to go on.
#ifndef PLI_BOOT_STRANGER_H
#define PLI_BOOT_STRANGER_H

#include "base/err.h"
#include "boot/greet.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PLI_STRANGER_N = 256,             // that a listener has at once: then the oldest makes room
    PLI_STRANGER_PATIENCE_MS = 10000, // how long they may take: callers go on in MPI calls only
    PLI_STRANGER_AT_ONCE = 64         // calls to take between two looks at other events
};

struct pli_stranger {
    int fd;         // -1: nobody
    uint64_t since; // clock
    bool is_asked;  // the reply was sent: the join is to come
    uint32_t n;     // bytes of what is to come next
    struct pli_greet_open open;
    struct pli_greet_reply reply;
    struct pli_greet_join join;
};

// Take one call of a listening socket. False: there is none, and errno says why.
bool pli_stranger_accept(int listener, struct pli_stranger *out);

// Go on. PLI_OK: it belongs to the job, and `join` says who it is and whom it wants. PLI_AGAIN: not
// yet. Else it is no good. The descriptor stays the caller's. Leaves no sentence.
enum pli_err pli_stranger_step(struct pli_stranger *s, const unsigned char *secret);

#endif
