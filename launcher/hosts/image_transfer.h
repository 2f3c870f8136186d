// SPDX-License-Identifier: BSD-3-Clause
// Where images of processes leave a host and come to another: over a connection of their own
// between the two daemons, who prove to each other that they are of the job, and through processes
// of their own, so that no other word waits.
#ifndef PLI_LAUNCHER_IMAGE_TRANSFER_H
#define PLI_LAUNCHER_IMAGE_TRANSFER_H

#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/hosts/daemon_auth.h"

#include <stdbool.h>
#include <stdint.h>

// Be ready to take images into the stash; where they are to be sent. Once it is open it stays so.
// False: a sentence is in `why` (PLI_CKPT_WHY bytes).
bool pli_dock_open(const struct pli_job *job, const unsigned char *secret, pli_gate_came_fn came,
                   struct pli_gate_place *out, char *why);
// Somebody of the job has called, and is no daemon below: what it sends is taken.
void pli_dock_take(int fd, const struct pli_handshake_keys *keys);

// Send the files of a directory, as a helper that says why it failed.
bool pli_dock_send(struct pli_helper *h, const struct pli_job *job, const struct pli_gate_place *to,
                   const char *dir);
void pli_dock_close(void);

#endif
