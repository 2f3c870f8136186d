// SPDX-License-Identifier: BSD-3-Clause
// The messages of windows beside those of one-sided access: locks, and exposure epochs.
#ifndef PLI_RMA_WIN_WIRE_H
#define PLI_RMA_WIN_WIRE_H

#include "onesided/region_wire.h"

#include <stdint.h>

// Numbers are appended and never reused.
enum pli_win_lock_kind {
    PLI_WIN_LOCK = 1, // answered when it is granted, or another holder has died
    PLI_WIN_UNLOCK,   // answered
    PLI_WIN_LOCK_FREE // a holder has left the lock, and another member waits for it; not answered
};

struct pli_win_lock_msg {
    uint16_t kind, hold; // hold: enum pli_hold
    uint32_t n_lost;     // dead holders that the sender has heard of
};
_Static_assert(sizeof(struct pli_win_lock_msg) == 8, "seen by other processes");

struct pli_win_lock_reply {
    int32_t err;     // enum pli_err, of the lock or of an access before
    uint32_t n_lost; // deaths of holders of the lock so far
    uint32_t lost;   // rank of the last of them
};

// Tags of empty messages.
enum {
    PLI_WIN_TAG_POST = PLI_REGION_TAG_CLIENT, // an exposure has begun
    PLI_WIN_TAG_COMPLETE                      // an access to it is over
};

#endif
