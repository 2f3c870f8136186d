// SPDX-License-Identifier: BSD-3-Clause
// Accepts connections. When there are no descriptors left a listening socket would stay ready for
// ever; then it is not watched for a while.
#ifndef PLI_LAUNCHER_ACCEPT_H
#define PLI_LAUNCHER_ACCEPT_H

#include "launcher/base/loop.h"

#include <stdbool.h>

// One call; the descriptor is closed at exec and does not block. -1: there is none now.
int pli_accept_one(struct pli_watch *listener);

// As above, of a socket of this host, and only from a process of this user: a call of another user
// is hung up on at once, and -1 returned.
int pli_accept_own(struct pli_watch *listener);

// After an accept that has failed (errno): leave the listener alone for a while if it failed for
// want of something. Whether it is left alone.
bool pli_accept_pause(struct pli_watch *listener);

enum { PLI_ACCEPT_N_LISTENER = 8 };

// Listeners that wait for a free descriptor: pli_launcher.accept.
struct pli_accept_state {
    struct pli_watch *paused[PLI_ACCEPT_N_LISTENER];
    struct pli_timer timer;
};

#endif
