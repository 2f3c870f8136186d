// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of what programs register. Context: the job has --checkpoint-mode state.
#ifndef PLI_LAUNCHER_CKPT_REGISTERED_H
#define PLI_LAUNCHER_CKPT_REGISTERED_H

#include <stdbool.h>
#include <stddef.h>

struct pli_answer;
struct pli_ckpt_plan;

void pli_ckpt_registered_open(const struct pli_ckpt_plan *plan);
// A checkpoint was asked for: the program should see that.
void pli_ckpt_registered_want(void);
// From a rank: PLI_ASK_STATE, PLI_ASK_SEAL. True: the answer is there.
void pli_ckpt_registered_begin(struct pli_answer *a);
bool pli_ckpt_registered_commit(void *token, const void *body, size_t len, struct pli_answer *a);
void pli_ckpt_registered_end(void);

#endif
