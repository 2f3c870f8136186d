// SPDX-License-Identifier: BSD-3-Clause
// Images of a job on several hosts: each host stops and writes its own ranks; mpiexec says when.
#ifndef PLI_LAUNCHER_CKPT_HEAD_H
#define PLI_LAUNCHER_CKPT_HEAD_H

#include <stdbool.h>
#include <stdint.h>

struct pli_dframe;
struct pli_job;
struct pli_manifest_task;
struct pli_pack;
struct pli_unpack;

// What mpiexec says to all hosts (PLI_DLINK_STEP). Numbers are appended and never reused.
enum pli_part_step {
    PLI_PART_STOP = 1, // let the ranks stand still
    PLI_PART_DRAIN,    // all do everywhere: empty the connections
    PLI_PART_LEAVE,    // all are empty: write the ranks; where follows, empty: do not
    PLI_PART_BACK,     // call them back
    PLI_PART_TAKE      // to a daemon that is to have the ranks of another: these (migrate_daemon.c)
};

// How far a host is (PLI_DLINK_PART): an error or none, its reason, whether it would work later,
// how many ranks; with PLI_PART_WRITTEN the clock and the ranks.
enum pli_part_stage {
    PLI_PART_ASKED = 1, // a rank wants a checkpoint
    PLI_PART_STOPPED,
    PLI_PART_DRAINED,
    PLI_PART_WRITTEN,
    PLI_PART_HOME,
    PLI_PART_RESTORED, // the ranks of a checkpoint are there, and wait to be called
    PLI_PART_THERE     // this daemon is ready to take the ranks of another
};

// In mpiexec.
void pli_ckpt_head_open(struct pli_job *job);
// A move: what the host that gives its ranks away has said of them; and all are called, wherever
// they are now.
const struct pli_pack *pli_ckpt_head_said(void);
void pli_ckpt_head_take(struct pli_unpack *u, struct pli_manifest_task *t); // one of them
void pli_ckpt_head_call(void);
// A host is lost, and a checkpoint under way if ranks were there; else it is not waited for.
void pli_ckpt_head_lose(struct pli_job *job, uint32_t host, bool has_ranks);
void pli_ckpt_head_go_on(struct pli_job *job);
void pli_ckpt_head_hear(struct pli_job *job, uint32_t host, const struct pli_dframe *f);

#endif
