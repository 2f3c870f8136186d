// SPDX-License-Identifier: BSD-3-Clause
// Sends images of processes from one host to another: over a connection of their own between the
// two daemons, which prove to each other that they are of the job, and through processes of their
// own, so that no other frame waits.
#ifndef PLI_LAUNCHER_IMAGE_TRANSFER_H
#define PLI_LAUNCHER_IMAGE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

struct pli_daemon_addr;
struct pli_daemon_handshake_keys;
struct pli_helper;
struct pli_job;

// Be ready to take images into the directory of tmpdir.h; where they are to be sent. Once it is
// open it stays so. False: a sentence is in `why` (PLI_CKPT_WHY bytes).
bool pli_image_transfer_open(struct pli_daemon_addr *out, char *why);
// A process of the job has called that is no daemon below: what it sends is taken.
void pli_image_transfer_take(int fd, const struct pli_daemon_handshake_keys *keys);

// Send the files of a directory, in a helper that says why it failed.
bool pli_image_transfer_send(struct pli_helper *h, const struct pli_job *job,
                             const struct pli_daemon_addr *to, const char *dir);
void pli_image_transfer_close(void);

struct pli_image_transfer_taker;

// Images on their way to this host: pli_launcher.image_transfer.
struct pli_image_transfer_state {
    struct pli_image_transfer_taker *takers;
    uint32_t here; // number of this host
};

#endif
