// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of a job on one host: mpiexec itself stops and writes the ranks.
#include "launcher/ckpt/ckpt_solo.h"

#include "launcher/ckpt/auto_restart.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_base.h"
#include "launcher/ckpt/ckpt_describe.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/restart_run.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"
#include "launcher/ranks/watchdog.h"

#include <errno.h>
#include <stdlib.h>

static void cancel(void)
{
    pli_ckpt_fail(ECANCELED, "the job is ending");
    if (pli_launcher.ckpt->state !=
        PLI_CKPT_DRAINING) { // else ranks cannot stay as they are any more
        pli_ckpt_ranks_resume();
    }
}

static void tell_hosts(struct pli_job *job)
{
    (void)job; // the ranks have the same memory
}

static bool may_write(void)
{
    return true;
}

static bool describe(struct pli_manifest_task *tasks, uint32_t n)
{
    const struct pli_ckpt_what what = { .tasks = tasks, .n = n };
    bool is_good = pli_ckpt_describe(&pli_launcher.ckpt->plan, &what);
    free(tasks);
    return is_good;
}

static bool link_base(void)
{
    return pli_ckpt_base_link(&pli_launcher.ckpt->plan);
}

static bool may_resume(enum pli_ckpt_phase before)
{
    (void)before;
    return true;
}

static void copied(void)
{
}

static void restored(struct pli_job *job)
{
    pli_say("going on from checkpoint %u with %u ranks", job->from->number, job->from->n_task);
    pli_restart_call_all();
    pli_ckpt_begin();
    pli_restart_resize(job);
}

// An older checkpoint may be better.
static void unrestored(struct pli_job *job)
{
    pli_watchdog_stop();
    pli_auto_restart_before(job);
}

static const struct pli_ckpt_ranks_ops ranks_ops = {
    .stopped = pli_ckpt_ranks_drain,
    .drained = pli_ckpt_ranks_leave,
    .may_write = may_write,
    .link_base = link_base,
    .describe = describe,
    .may_resume = may_resume,
    .copied = copied,
    .restored = restored,
    .unrestored = unrestored,
    .up = "/..",
};

const struct pli_ckpt_role pli_ckpt_solo_role = {
    .open = pli_ckpt_ranks_open,
    .stop = pli_ckpt_ranks_stop,
    .cancel = cancel,
    .save = pli_ckpt_want,
    .count = pli_ckpt_count_attempt,
    .resumed = pli_ckpt_finish,
    .tell_hosts = tell_hosts,
    .restore = pli_restart_ranks,
    .is_written = pli_ckpt_ranks_are_written,
    .ranks = &ranks_ops,
};
