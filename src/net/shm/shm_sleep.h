// SPDX-License-Identifier: BSD-3-Clause
// Sleeping at a mailbox. Who writes to it wakes its reader, see shm.h.
#ifndef PLI_NET_SHM_SLEEP_H
#define PLI_NET_SHM_SLEEP_H

#include "net/shm/shm_wire.h"

#include <stdbool.h>

struct pli_shm;
struct sockaddr_un;

// Going to sleep at some of my mailboxes: announce at each, then order once for all of them; look
// once more at what one waits for, then sleep while box->wakes is what announce returned, or until
// the bell rings, and retract. Several threads may sleep at one mailbox: `asleep` can be set anew
// by one when another has been woken and does not know it yet, which the number of wakes tells it.
// Context of announce and retract: one thread at a time.
int pli_shm_announce(struct pli_shm *s, enum pli_shm_sleep how);
void pli_shm_order(const struct pli_shm *any);
void pli_shm_retract(struct pli_shm *s);
// Tell writers the address of my bell; fd is also what this process rings others' with. False: the
// name is too long.
bool pli_shm_name_bell(struct pli_shm *s, int fd, const struct sockaddr_un *name, unsigned len);
void pli_shm_drop_bell(int fd); // it is about to be closed
// The process is the image of another that had opened lanes: tell the kernel anew what it needs to
// know. Async-signal-safe.
void pli_shm_again(void);

#endif
