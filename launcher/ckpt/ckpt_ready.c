// SPDX-License-Identifier: BSD-3-Clause
// Whether the job is of a kind, and at a point, at which its ranks can be stopped and written.
#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/supervisor.h"

const char *pli_ckpt_obstacle(const struct pli_job *job)
{
    const char *why = "the job is ending";
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (t->is_exited) {
            continue;
        }
        if (t->indirect != NULL) {
            return "a rank was started by a script; let the script end with 'exec program'";
        }
        if (t->is_spawned && job->node.rows[t->first].version == 0) {
            return "a process that a rank has spawned is running";
        }
        why = NULL;
    }
    return pli_supervisor_is_ending() ? "the job is ending" : why;
}

bool pli_ckpt_is_ready(const struct pli_job *job)
{
    bool is_all = job->n_begun == job->n_first && !pli_resize_is_coming();
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL && is_all;
         t = pli_job_next(job, t)) {
        uint32_t state = atomic_load(&job->node.rows[t->first].state);
        is_all = t->is_over || state == PLI_NODE_RUNNING || state == PLI_NODE_FINALIZED;
    }
    return is_all;
}
