// SPDX-License-Identifier: BSD-3-Clause
// Keeps ranks of a job apart: one that finds itself on the core of another one moves to a core that
// no rank has.
#ifndef PLI_MSG_PLACEMENT_H
#define PLI_MSG_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>

struct pli_lane;

// This thread has waited in vain for a while: see where it runs, tell the others, and move if it
// shares the core with another rank although there is one for each. Context: no lock held.
void pli_placement_check(struct pli_lane *lane);

// This thread is going to look for more from the process that it has just served: move away from
// that one's processor, which it would keep from asking. False: it stays. Context: no lock held.
bool pli_placement_leave_peer(struct pli_lane *lane);

// The allowed processor nearest to `here` that is not taken, -1: there is none.
int pli_placement_target(int here, const cpu_set_t *allowed, const cpu_set_t *taken);

#endif
