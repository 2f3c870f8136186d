// SPDX-License-Identifier: BSD-3-Clause
// Keeps ranks of a job apart: one that finds more of them on its core than on another one moves
// there.
#ifndef PLI_MSG_PLACEMENT_H
#define PLI_MSG_PLACEMENT_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_lane;

// This thread has waited in vain for a while: see where it runs, tell the others, and move if fewer
// ranks are on another processor. Context: no lock held.
void pli_placement_check(struct pli_lane *lane);

// This rank shares its processor with others although there is one with fewer: to look on would
// only keep these from running. Any thread, relaxed.
extern _Atomic bool pli_placement_is_shared;

// This thread is going to sleep, without end or for a short time. Who wakes it may have the kernel
// take it to its own processor: after ranks have met on one, each sleeps bound to where it is for a
// while. True: pli_placement_wake must follow, while the mask is there. One that sleeps without end
// is on no processor. Context: no lock held.
bool pli_placement_sleep(bool is_endless, cpu_set_t *mask_out);
void pli_placement_wake(void);

// This thread is going to look for more from the process that it has just served: move away from
// that one's processor, which it would keep from asking. False: it stays. Context: no lock held.
bool pli_placement_leave_peer(struct pli_lane *lane);

// The allowed processor with the fewest other ranks, of which n counts those on each, the nearest
// of such to `here`; -1: none has fewer than `here`.
int pli_placement_target(int here, const cpu_set_t *allowed, const uint16_t n[CPU_SETSIZE]);

#endif
