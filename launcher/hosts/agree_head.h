// SPDX-License-Identifier: BSD-3-Clause
// Communicators with members on several hosts that were revoked or agreed on: mpiexec counts.
#ifndef PLI_LAUNCHER_AGREE_HEAD_H
#define PLI_LAUNCHER_AGREE_HEAD_H

#include <stddef.h>

struct pli_job;
struct pli_agree_word;

// A rank's word: a daemon passes it on.
void pli_agree_head_hear(struct pli_job *job, const struct pli_agree_word *word);
// The same, as a daemon has sent it.
void pli_agree_head_unpack(struct pli_job *job, const void *data, size_t len);
// Processes died, whose votes need not be waited for.
void pli_agree_head_failed(struct pli_job *job);

#endif
