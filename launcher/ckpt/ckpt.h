// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of a running job: all ranks stand still, their processes and the node memory are
// written, they go on, and what was written is sealed and gets its name.
#ifndef PLI_LAUNCHER_CKPT_H
#define PLI_LAUNCHER_CKPT_H

#include <stdbool.h>
#include <stdint.h>

struct pli_answer;
struct pli_ctl_msg;
struct pli_job;
struct pli_proc_task;

// Prepare for checkpoints where the command line asks for them. False with a message: they cannot
// be made here. Context: the node memory is there, no rank has been started.
bool pli_ckpt_open(struct pli_job *job, char **argv);
// The same in a daemon, where mpiexec decides.
bool pli_ckpt_open_part(struct pli_job *job);
// The ranks are on their way: count the interval from now on.
void pli_ckpt_begin(void);

// Somebody wants a checkpoint: who asked over a socket (its answer comes later unless true is
// returned), or a rank.
bool pli_ckpt_ask(void *token, struct pli_answer *a);
void pli_ckpt_forget(const void *token); // who asked is gone
void pli_ckpt_save(void);

// From ranks: it stands still, or says why not (rope is -1 then); its control socket is closed.
void pli_ckpt_parked(struct pli_proc_task *t, const struct pli_ctl_msg *msg, int rope);
void pli_ckpt_drained(struct pli_proc_task *t); // nothing is on its way to it
void pli_ckpt_hung_up(struct pli_proc_task *t);
void pli_ckpt_gone(struct pli_proc_task *t); // its process has ended

// In mpiexec: let all ranks stand still and have those of a host written, to be taken by another
// (migrate_ranks.h). False: a checkpoint is being made.
struct pli_pack;
struct pli_ckpt_move_ops {
    void (*pack_way)(struct pli_pack *to); // where the images go
    void (*take)(void);                    // they are there
    // How much of their output is on its way, when they are elsewhere already.
    void (*pack_streams)(uint32_t host, struct pli_pack *to);
    void (*over)(int error, const char *why); // all go on, wherever they are
};
bool pli_ckpt_move(uint32_t host, const struct pli_ckpt_move_ops *ops);

// The ranks are told to end: what is written of them from now on is no good image.
void pli_ckpt_cancel(void);

// Whether ranks stand still or are about to: nobody may be started now.
bool pli_ckpt_is_stopping(void);

// The job is over. Finishes what only needs writing; drops the rest.
void pli_ckpt_end(void);

#endif
