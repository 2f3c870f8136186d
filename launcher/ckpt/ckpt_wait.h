// SPDX-License-Identifier: BSD-3-Clause
// The requests that wait for the checkpoint that is being made: those of commands, by their
// sockets, and those of ranks, by a word in the node memory.
#ifndef PLI_LAUNCHER_CKPT_WAIT_H
#define PLI_LAUNCHER_CKPT_WAIT_H

#include <stdbool.h>

struct pli_answer;
struct pli_job;

// One more request; false: there are too many.
bool pli_ckpt_wait_add(void *token);
bool pli_ckpt_wait_is_any(void);
void pli_ckpt_forget(const void *token); // its socket is closed
// All learn how it ended.
void pli_ckpt_wait_end(struct pli_job *job, const struct pli_answer *a);

#endif
