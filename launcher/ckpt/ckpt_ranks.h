// SPDX-License-Identifier: BSD-3-Clause
// The ranks of this host in a checkpoint: they stop, empty their connections where they have any,
// close their sockets, are written, and resume.
#ifndef PLI_LAUNCHER_CKPT_RANKS_H
#define PLI_LAUNCHER_CKPT_RANKS_H

#include <stdbool.h>
#include <sys/types.h>

struct pli_ctl_msg;
struct pli_job;
struct pli_proc_task;

bool pli_ckpt_ranks_open(struct pli_job *job);
// Stop them; then, where there is a network, empty their connections; then write them.
void pli_ckpt_ranks_stop(void);
void pli_ckpt_ranks_drain(void);
void pli_ckpt_ranks_leave(void);
// Resume them as soon as none is being written.
void pli_ckpt_ranks_resume(void);
// Those that were to resume have.
void pli_ckpt_all_back(struct pli_job *job);
bool pli_ckpt_ranks_are_written(void); // neither CRIU nor a helper is at work on one
void pli_ckpt_ranks_drop(void);        // the job is over: what is being written is of no use

// Why no checkpoint of this job can be made, NULL: it can; and whether now.
const char *pli_ckpt_obstacle(const struct pli_job *job);
bool pli_ckpt_is_ready(const struct pli_job *job);

// From ranks: it stands still, or says why not (resume_fd is -1 then); nothing is on its way to it
// any more; its control socket is closed; its process has ended.
void pli_ckpt_frozen(struct pli_proc_task *t, const struct pli_ctl_msg *msg, int resume_fd);
// Its copy, which is process `pid` here and knows itself as `number`, is ready; number 0: it is no
// good copy, and ends.
void pli_ckpt_copied(struct pli_proc_task *t, pid_t pid, int number, int resume_fd, int said);
void pli_ckpt_drained(struct pli_proc_task *t);
void pli_ckpt_hung_up(struct pli_proc_task *t);
void pli_ckpt_gone(struct pli_proc_task *t);

#endif
