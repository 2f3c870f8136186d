// SPDX-License-Identifier: BSD-3-Clause
// Copies of ranks, which are dumped in their stead while the ranks go on (src/ckpt/freeze_copy.h).
#ifndef PLI_LAUNCHER_CKPT_COPY_H
#define PLI_LAUNCHER_CKPT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_job;
struct pli_ckpt_copy; // ckpt_state.h

// Whether ranks are to be copied: the user allows it, and there is as much memory left as they
// have, because that much may have to be copied while the images are written.
bool pli_ckpt_copy_is_wanted(const struct pli_job *job);

// said: a file in which it says what it has, see freeze_wire.h. False: that makes no sense.
bool pli_ckpt_copy_begin(struct pli_ckpt_copy *c, pid_t pid, int number, int resume_fd, int said);
// Note how long its files are. All ranks of the job stand still, so what several of them write to
// has one length in all images. False with errno.
bool pli_ckpt_copy_measure(struct pli_ckpt_copy *c);
// End the process, if there is one, and wait for it. No CRIU works on it.
void pli_ckpt_copy_end(struct pli_ckpt_copy *c);

// Make the images of the copy those of the rank, whose number was `original`. False with a reason
// of at most cap bytes: they cannot be changed.
bool pli_ckpt_copy_rename(const char *dir, const struct pli_ckpt_copy *copy, uint32_t original,
                          char *why, size_t cap);

#endif
