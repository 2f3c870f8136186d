// SPDX-License-Identifier: BSD-3-Clause
// Where ranks are connected they go in step: all stand still before the first empties a connection,
// and all have emptied theirs before the first leaves.
#include "ckpt/freeze_wire.h"
#include "launcher/ckpt/ckpt_priv.h"

#include <unistd.h>

void pli_ckpt_net_say(struct pli_ckpt_rank *ranks, const struct pli_job *job, uint32_t what)
{
    const struct pli_freeze_word w = { .what = what };
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        struct pli_ckpt_rank *r = &ranks[pli_job_slot(job, t)];
        if (r->is_wanted && r->rope >= 0) {
            ssize_t n = write(r->rope, &w, sizeof w);
            (void)n; // one that is gone is noticed as such
            if (what == PLI_FREEZE_STAY) {
                close(r->rope);
                r->rope = -1;
            }
        }
    }
}

bool pli_ckpt_net_are(const struct pli_ckpt_rank *ranks, const struct pli_job *job,
                      enum pli_ckpt_stage stage)
{
    bool is_all = true;
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        const struct pli_ckpt_rank *r = &ranks[pli_job_slot(job, t)];
        is_all = is_all && (!r->is_wanted || (stage == PLI_CKPT_STOPPED   ? r->rope >= 0
                                              : stage == PLI_CKPT_DRAINED ? r->is_drained
                                                                          : r->is_parked));
    }
    return is_all;
}
