// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of a running job: all ranks stand still, their processes and the node memory are
// written, they go on, and what was written gets its sums and its name.
#ifndef PLI_LAUNCHER_CKPT_H
#define PLI_LAUNCHER_CKPT_H

#include <stdbool.h>
#include <stdint.h>

struct pli_answer;
struct pli_job;

// The ranks are on their way: count the interval from now on.
void pli_ckpt_begin(void);

// A checkpoint is wanted: by a command over a socket (its answer comes later unless true is
// returned), or by a rank.
bool pli_ckpt_ask(void *token, struct pli_answer *a);
void pli_ckpt_save(void);
void pli_ckpt_want(void); // as the latter, in mpiexec

// In mpiexec: let all ranks stand still and have those of a host written, to be taken by another
// (migrate_ranks.h). False: a checkpoint is being made.
struct pli_pack;
struct pli_ckpt_move_ops {
    void (*pack_destination)(struct pli_pack *to); // where the images go
    void (*take)(void);                            // they are there
    void (*gathered)(void); // the others stand still once more, so that all can be connected
    // How much of their output is on its way, when they are elsewhere already.
    void (*pack_streams)(uint32_t host, struct pli_pack *to);
    void (*over)(int error, const char *why); // all go on, wherever they are
};
bool pli_ckpt_move(uint32_t host, const struct pli_ckpt_move_ops *ops);

// The ranks are told to end: what is written of them from now on is no good image.
void pli_ckpt_cancel(void);

// In mpiexec: the ranks go on. What was written becomes a checkpoint, or is thrown away.
void pli_ckpt_finish(struct pli_job *job);
// Count an attempt where ranks see it.
void pli_ckpt_count_attempt(void);

// The job is over. Finishes what only needs writing; drops the rest.
void pli_ckpt_end(void);

#endif
