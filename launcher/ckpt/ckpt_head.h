// SPDX-License-Identifier: BSD-3-Clause
// Images of a job on several hosts: each host stops and writes its own ranks; mpiexec says when.
#ifndef PLI_LAUNCHER_CKPT_HEAD_H
#define PLI_LAUNCHER_CKPT_HEAD_H

#include "launcher/ckpt/ckpt_phase.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_ckpt_role;
struct pli_dframe;
struct pli_job;
struct pli_manifest_task;
struct pli_pack;
struct pli_unpack;

// In mpiexec.
// A move: what the host that gives its ranks away has said of them; and all are called, wherever
// they are now.
const struct pli_pack *pli_ckpt_head_said(void);
void pli_ckpt_head_take(struct pli_unpack *u, struct pli_manifest_task *t); // one of them
void pli_ckpt_head_call(void);
// A step, to the daemon of a host; for migrate_gather.c, which says when the others stand still.
void pli_ckpt_head_say(uint32_t host, enum pli_ckpt_step step);
void pli_ckpt_head_gathered(void);
// A host is lost, and a checkpoint under way if ranks were there; else it is not waited for.
void pli_ckpt_head_lose(struct pli_job *job, uint32_t host, bool has_ranks);
void pli_ckpt_head_go_on(struct pli_job *job);
void pli_ckpt_head_hear(struct pli_job *job, uint32_t host, const struct pli_dframe *f);

extern const struct pli_ckpt_role pli_ckpt_head_role;

#endif
