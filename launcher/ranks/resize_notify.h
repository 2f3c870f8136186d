// SPDX-License-Identifier: BSD-3-Clause
// --on-resize=error on several hosts: where the ranks leave the old version of the world.
#ifndef PLI_LAUNCHER_RESIZE_NOTIFY_H
#define PLI_LAUNCHER_RESIZE_NOTIFY_H

#include <stdint.h>

struct pli_job;
struct pli_agree_word;

// A rank says how many collectives it has begun, or that it works in the new version.
void pli_resize_notify_hear(struct pli_job *job, const struct pli_agree_word *word);
// Somebody may have ended of whom it was waited for.
void pli_resize_notify_check(struct pli_job *job);
// The members of the version that is left.
void pli_resize_notify_begin(const uint32_t *members, uint32_t n);

// The version of the world that ranks leave: pli_launcher.resize_notify.
struct pli_resize_notify_state {
    uint32_t *old, n_old; // members of the version that is left
    uint32_t n_told;      // versions whose end all know
};

#endif
