// SPDX-License-Identifier: BSD-3-Clause
// What a launcher process does about checkpoints, by its role: solo (mpiexec of a job on one host,
// ckpt_solo.c), head (mpiexec of a job on several hosts, ckpt_head.c) and daemon (the ranks of one
// host, ckpt_daemon.c). The role of the process (job/role.h) names it to
// ckpt_open.c.
#ifndef PLI_LAUNCHER_CKPT_ROLE_H
#define PLI_LAUNCHER_CKPT_ROLE_H

#include "launcher/ckpt/ckpt_phase.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_job;
struct pli_manifest_task;

// Where ranks of the job run on this host.
struct pli_ckpt_ranks_ops {
    // A step of all of them is done, see ckpt_ranks.c.
    void (*stopped)(void);
    void (*drained)(void);
    // Whether they may be written; else the reason was given to pli_ckpt_fail.
    bool (*may_write)(void);
    // Make the link to the checkpoint that this one is based on, if it is based on one.
    bool (*link_base)(void);
    // What the manifest is to say of them, of the heap; now its. False: it has no memory for that.
    bool (*describe)(struct pli_manifest_task *tasks, uint32_t n);
    // Whether they may resume now. before: the step that was reached; it is over, or has failed.
    bool (*may_resume)(enum pli_ckpt_phase before);
    // They go on, and copies of them are being written.
    void (*copied)(void);
    // They were restored from a checkpoint, see restart_run.c; or CRIU could not do that.
    void (*restored)(struct pli_job *job);
    void (*unrestored)(struct pli_job *job);
    const char *up; // from their images to the directory of all checkpoints
};

struct pli_ckpt_role {
    bool (*open)(struct pli_job *job);    // False with a message: it cannot make any
    void (*stop)(void);                   // all ranks of the job are to stop
    void (*cancel)(void);                 // the job ends while ranks stand still
    void (*save)(void);                   // a rank wants a checkpoint
    void (*count)(void);                  // an attempt is begun
    void (*resumed)(struct pli_job *job); // all ranks that were to resume have
    // The part of the node memory that is about checkpoints has changed.
    void (*tell_hosts)(struct pli_job *job);
    // Go on from images. False with a message: no rank is left.
    bool (*restore)(struct pli_job *job, int signals);
    bool (*is_written)(void); // no image is being written any more, of ranks or copies
    const struct pli_ckpt_ranks_ops *ranks; // NULL: none are here
};

#endif
