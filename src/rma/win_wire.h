// SPDX-License-Identifier: BSD-3-Clause
// The messages of windows beside those of one-sided access: locks, and exposure epochs.
#ifndef PLI_RMA_WIN_WIRE_H
#define PLI_RMA_WIN_WIRE_H

#include "onesided/region_wire.h"

#include <stdatomic.h>
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

// Behind the guard of a member of a dynamic window, and read by the members of its host: what is
// attached to it.
enum { PLI_WIN_ATTACH_MOST = 30 }; // of more, the others are asked for at the member
struct pli_win_attach_wire {
    _Atomic uint32_t version; // odd: it is being changed
    _Atomic uint32_t n;
    uint64_t spare;
    struct {
        _Atomic uint64_t at, len;
    } pieces[PLI_WIN_ATTACH_MOST];
};
_Static_assert(sizeof(struct pli_win_attach_wire) == 496, "shared with other processes");

// What members of one host count instead of sending empty messages: one for each member of the
// window, in the arena of the member whose memory is exposed.
struct pli_win_epoch_wire {
    _Atomic uint32_t posted;    // exposures to that member; written by the owner
    _Atomic uint32_t completed; // that member's accesses that are over; written by that member
};
_Static_assert(sizeof(struct pli_win_epoch_wire) == 8, "shared with other processes");

// What a member tells the others of its memory when the window is made. Numbers in the host's
// order: members have the same.
struct pli_win_member {
    uint64_t base, window; // addresses, for members of the same process
    uint64_t size;
    int64_t unit;
    uint64_t memory, guard; // offsets, for members of the same host
    uint64_t context;       // proposed by the first member
    int32_t where, err;     // where: 0 if other processes do not see the memory
    // Offset of its struct pli_win_epoch_wire in the arena, 0: it has none; and in the lowest bit
    // whether the guard is in the arena, though the memory is not shared.
    uint64_t arena;
};
_Static_assert(sizeof(struct pli_win_member) == 72, "seen by other processes");

enum { PLI_WIN_ARENA_GUARD = 1 }; // in `arena`

// Tags of empty messages.
enum {
    PLI_WIN_TAG_POST = PLI_REGION_TAG_CLIENT, // an exposure has begun
    PLI_WIN_TAG_COMPLETE                      // an access to it is over
};

#endif
