// SPDX-License-Identifier: BSD-3-Clause
// The lock of this member's memory: the owner queues members that ask for it, grants it, and
// releases what members held that died.
#ifndef PLI_RMA_WIN_LOCK_H
#define PLI_RMA_WIN_LOCK_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct pli_region;
struct pli_win;

enum pli_err pli_win_lock_open(struct pli_win *w); // before the window has a region
// From now on the window is told of the deaths of members. It has a region.
void pli_win_lock_listen(struct pli_win *w);
// The death of a member is not heard of any more; waits until none is being dealt with. Context: no
// lock held. One that was never opened is fine, here and below.
void pli_win_lock_stop(struct pli_win *w);
void pli_win_lock_close(struct pli_win *w); // after the window's region has gone

// A message about the lock came: see pli_region_message_fn. arg is the window.
void pli_win_lock_message(struct pli_region *r, void *arg, int origin, uint32_t tag,
                          const void *text, size_t len);

#endif
