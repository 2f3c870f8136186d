// SPDX-License-Identifier: BSD-3-Clause
// Lets a thread sleep at a mailbox; a process that writes to it wakes the thread, see shm.h.
#ifndef PLI_NET_SHM_SLEEP_H
#define PLI_NET_SHM_SLEEP_H

#include "net/shm/shm_wire.h"

#include <stdbool.h>

struct pli_node;
struct pli_shm;

// Going to sleep at some of my mailboxes: announce at each, then order once for all of them; look
// once more at what one waits for, then sleep while box->wakes is what announce returned, or until
// the wake socket is readable, and retract. Several threads may sleep at one mailbox: `asleep` can
// be set anew by one when another has been woken and does not know it yet, which the number of
// wakes tells it. Context of announce and retract: one thread at a time.
int pli_shm_announce(struct pli_shm *s, enum pli_shm_sleep how);
// False: the kernel has begun to refuse it after writers had counted on it (a filter for system
// calls that the program has installed), so one must not sleep for long.
bool pli_shm_order(void);
void pli_shm_retract(struct pli_shm *s);

// Register with the kernel for these barriers. Start-up only.
void pli_shm_sleep_init(void);
// The process is the image of another that had opened lanes: tell the kernel anew what it needs to
// know. Async-signal-safe.
void pli_shm_again(const struct pli_node *node);
// The kernel refuses this process the barriers: what it writes for sleepers to see needs a fence.
extern _Atomic bool pli_shm_must_fence;

#endif
