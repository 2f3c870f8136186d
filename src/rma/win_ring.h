// SPDX-License-Identifier: BSD-3-Clause
// Small puts and gets of a member of the same host whose memory is not mapped here. The origin
// writes them into a ring in shared memory, where the target finds them when it is in a call of
// MPI; where it is not, and the kernel allows it, the origin takes them out again and does them
// itself, all in one system call.
#ifndef PLI_RMA_WIN_RING_H
#define PLI_RMA_WIN_RING_H

#include "base/err.h"
#include "obj/group.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_rma_target;
struct pli_win;

enum { PLI_WIN_RING_MOST = 32768 }; // bytes of an access that may go this way

// Whether accesses to this process may go by a ring.
bool pli_win_ring_may(struct pli_id id);

// Write down an access to a run of bytes. False: it does not go this way, or there is no room.
// Memory of a get is written until the get is over. Context: no lock held.
bool pli_win_ring_put(struct pli_win *w, const struct pli_rma_target *t, const void *from,
                      size_t bytes);
bool pli_win_ring_get(struct pli_win *w, const struct pli_rma_target *t, void *to, size_t bytes);

// All accesses to a member are done there. Context: no lock held.
void pli_win_ring_flush(struct pli_win *w, int rank, const char *call);
// The same, or the target will have done them before it reads any message that follows.
void pli_win_ring_hand_over(struct pli_win *w, int rank, const char *call);
// Memory here that they use is free.
void pli_win_ring_flush_local(struct pli_win *w, int rank, const char *call);

// No member will be told of a ring of this window any more. Context: no epoch is open.
void pli_win_ring_drain(struct pli_win *w);
void pli_win_ring_clone(struct pli_win *w);   // in a clone: rings are its parent's
void pli_win_ring_destroy(struct pli_win *w); // of all members

#endif
