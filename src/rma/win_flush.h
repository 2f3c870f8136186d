// SPDX-License-Identifier: BSD-3-Clause
// Completion of accesses to a window, local and remote. `call` is named while it waits.
#ifndef PLI_RMA_WIN_FLUSH_H
#define PLI_RMA_WIN_FLUSH_H

#include "base/err.h"
#include "rma/win.h"

enum { PLI_WIN_FLUSH_LOOK = 16 }; // flushes of near memory, which wait for nothing, for one poll

// All that this member did to a member, or to all, is done there and seen by all members.
enum pli_err pli_win_flush(struct pli_win *w, int rank, const char *call);
enum pli_err pli_win_flush_all(struct pli_win *w, const char *call);
// The same of all, or members will find it done when they have read a message that follows.
enum pli_err pli_win_flush_hand_over(struct pli_win *w, const char *call);
// All that went to a member by a ring is done there.
void pli_win_flush_ring(struct pli_win *w, int rank, const char *call);
// Memory here that accesses to a member, or to all, use is free.
void pli_win_flush_local(struct pli_win *w, int rank, const char *call);
void pli_win_flush_local_all(struct pli_win *w, const char *call);
// An access to a member, or to any, that failed and was not reported yet.
enum pli_err pli_win_flush_fault(struct pli_win *w, int rank);
enum pli_err pli_win_flush_fault_all(struct pli_win *w);

// Let others go on: a program that comes here again and again may wait for something that they need
// this process for.
void pli_win_flush_poll(struct pli_win *w);
// The same, but not each time where accesses were loads and stores.
static inline void pli_win_flush_poll_after_near(struct pli_win *w, bool is_near)
{
    uint32_t n = atomic_load_explicit(&w->n_near_flush, memory_order_relaxed) + 1;
    atomic_store_explicit(&w->n_near_flush, n, memory_order_relaxed);
    if (__builtin_expect(!is_near || n % PLI_WIN_FLUSH_LOOK == 0, 0)) {
        pli_win_flush_poll(w);
    }
}
// After accesses to one member alone.
static inline void pli_win_flush_poll_at(struct pli_win *w, int rank)
{
    const struct pli_win_peer *p = &w->peers[rank];
    pli_win_flush_poll_after_near(w, p->is_near || p->ring != NULL);
}
// The same after an access that has a request, which is complete at once where memory is near: a
// program may wait for a value by such accesses alone. Returns the error it is given.
enum pli_err pli_win_flush_poll_after(enum pli_err err, struct pli_win *w, int rank);
// MPI_Win_sync.
enum pli_err pli_win_flush_sync(struct pli_win *w);

#endif
