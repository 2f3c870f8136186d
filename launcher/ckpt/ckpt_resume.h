// SPDX-License-Identifier: BSD-3-Clause
// Resumes ranks that stood still: they connect to one socket, and get their memory there.
#ifndef PLI_LAUNCHER_CKPT_RESUME_H
#define PLI_LAUNCHER_CKPT_RESUME_H

#include <stdbool.h>

struct pli_job;
struct pli_proc_task;

// all_back is called when all ranks that were called are back.
bool pli_ckpt_resume_open(struct pli_job *job, void (*all_back)(struct pli_job *job));
// Resume a rank by its resume pipe, which is closed then.
void pli_ckpt_resume_call(struct pli_proc_task *t, int resume_fd);
// Ranks that come from another host wait for their accept sockets, so that none communicates before
// it is certain that it goes on here.
void pli_ckpt_resume_hold(void);
bool pli_ckpt_resume_is_held(void);
void pli_ckpt_resume_release(void);
void pli_ckpt_resume_gone(struct pli_proc_task *t); // it will not come

#endif
