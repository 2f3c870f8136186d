// SPDX-License-Identifier: BSD-3-Clause
// Processes that come later, in a job on several hosts: the daemons' side of muster.h.
#ifndef PLI_MPIEXEC_RECRUIT_H
#define PLI_MPIEXEC_RECRUIT_H

struct pli_frame;
struct pli_job;

// Do what a frame of kind PLI_LINK_COMING, GO or DROP says, and tell mpiexec what became of it.
void pli_recruit_coming(struct pli_job *job, const struct pli_frame *f);
void pli_recruit_go(struct pli_job *job, const struct pli_frame *f);
void pli_recruit_drop(struct pli_job *job, const struct pli_frame *f);

#endif
