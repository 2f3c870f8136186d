// SPDX-License-Identifier: BSD-3-Clause
// The origin's side of a ring, for the files of rings alone.
#ifndef PLI_RMA_WIN_RING_PRIV_H
#define PLI_RMA_WIN_RING_PRIV_H

#include "base/lock.h"
#include "rma/win_ring_wire.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_win;
struct pli_win_peer;

// Guarded by the lock.
struct pli_win_ring {
    struct pli_lock lock;
    struct pli_win_ring_wire *wire;
    uint64_t head; // of the wire
    uint64_t over; // accesses below are done, and gets below have their data
    uint64_t told; // accesses below are named by a message that is in the target's mailbox
    uint32_t n_told, n_get;
    bool is_away;     // the target did not answer, and has not read the last message since
    bool is_copying;  // wire->job is in use
    uint32_t n_since; // short accesses since the origin last waited for all
    bool was_alone;   // only one came between the two times before
    uint32_t n_lack;  // accesses in a row with others that found no room; a few: it is made larger
    int64_t long_at;  // place of the last long access to memory that is mapped here
};

// The ring to a member, made if need be; NULL: there can be none. Context: no lock held.
struct pli_win_ring *pli_win_ring_of(struct pli_win *w, struct pli_win_peer *p);
// Tell the target to look, unless it has not read the last message yet. Context: locked.
void pli_win_ring_tell(struct pli_win *w, int rank, struct pli_win_ring *r);
// Whether it has read the last message. Context: locked, or no other thread uses the window.
bool pli_win_ring_is_heard(const struct pli_win_ring *r);
// Whether it sleeps, and the kernel may do its work here: to wake it would take longer.
bool pli_win_ring_is_asleep(struct pli_win_peer *p);

#endif
