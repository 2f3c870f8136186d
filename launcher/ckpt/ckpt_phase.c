// SPDX-License-Identifier: BSD-3-Clause
// The steps of the checkpoint that is being made: which follows which, and how it failed.
#include "launcher/ckpt/ckpt_phase.h"

#include "base/fault.h"
#include "launcher/base/say.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/job/job.h"
#include "launcher/ranks/rank_request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const bool may_go[PLI_CKPT_N_PHASE][PLI_CKPT_N_PHASE] = {
    [PLI_CKPT_IDLE] = { [PLI_CKPT_WAITING] = true },
    [PLI_CKPT_WAITING] = { [PLI_CKPT_STOPPING] = true, [PLI_CKPT_IDLE] = true },
    [PLI_CKPT_STOPPING] = { [PLI_CKPT_DRAINING] = true,
                            [PLI_CKPT_DUMPING] = true,
                            [PLI_CKPT_RESUMING] = true },
    [PLI_CKPT_DRAINING] = { [PLI_CKPT_DUMPING] = true, [PLI_CKPT_RESUMING] = true },
    [PLI_CKPT_DUMPING] = { [PLI_CKPT_MOVING] = true, [PLI_CKPT_RESUMING] = true },
    [PLI_CKPT_MOVING] = { [PLI_CKPT_RESUMING] = true },
    [PLI_CKPT_RESUMING] = { [PLI_CKPT_WRITING] = true,
                            [PLI_CKPT_COMMITTING] = true,
                            [PLI_CKPT_WAITING] = true,
                            [PLI_CKPT_IDLE] = true },
    [PLI_CKPT_WRITING] = { [PLI_CKPT_COMMITTING] = true,
                           [PLI_CKPT_WAITING] = true,
                           [PLI_CKPT_IDLE] = true },
    [PLI_CKPT_COMMITTING] = { [PLI_CKPT_IDLE] = true },
};
static const struct {
    const char *say, *point;
} words[PLI_CKPT_N_PHASE] = {
    [PLI_CKPT_IDLE] = { "over", "mpiexec_ckpt_over" },
    [PLI_CKPT_WAITING] = { "wanted", "mpiexec_ckpt_wanted" },
    [PLI_CKPT_STOPPING] = { "stopping the ranks", "mpiexec_ckpt_stopping" },
    [PLI_CKPT_DRAINING] = { "emptying connections", "mpiexec_ckpt_draining" },
    [PLI_CKPT_DUMPING] = { "writing images", "mpiexec_ckpt_dumping" },
    [PLI_CKPT_MOVING] = { "another host takes the ranks", "mpiexec_ckpt_moving" },
    [PLI_CKPT_RESUMING] = { "resuming the ranks", "mpiexec_ckpt_resuming" },
    [PLI_CKPT_WRITING] = { "writing images of copies; the ranks go on", "mpiexec_ckpt_writing" },
    [PLI_CKPT_COMMITTING] = { "writing the manifest", "mpiexec_ckpt_committing" },
};

bool pli_ckpt_go(enum pli_ckpt_phase to)
{
    if (!may_go[pli_launcher.ckpt->state][to]) {
        return false;
    }
    pli_launcher.ckpt->state = to;
    if (!pli_ckpt_is_stopping()) {
        pli_rank_request_resume();
    }
    if (pli_launcher.ckpt->job->opt.is_verbose && pli_launcher.ckpt->is_move) {
        pli_say("move: %s", words[to].say);
    } else if (pli_launcher.ckpt->job->opt.is_verbose) {
        pli_say("checkpoint %u: %s", pli_launcher.ckpt->plan.number, words[to].say);
    }
    pli_fault(words[to].point, 0);
    return true;
}

bool pli_ckpt_is_stopping(void)
{
    return pli_launcher.ckpt->state >= PLI_CKPT_STOPPING &&
           pli_launcher.ckpt->state <= PLI_CKPT_RESUMING;
}

void pli_ckpt_fail(int error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (pli_launcher.ckpt->error == 0) {
        pli_launcher.ckpt->error = error != 0 ? error : EIO;
        vsnprintf(pli_launcher.ckpt->why, sizeof pli_launcher.ckpt->why, fmt, ap);
    }
    va_end(ap);
}

void pli_ckpt_clear(void)
{
    pli_launcher.ckpt->error = 0;
    pli_launcher.ckpt->why[0] = '\0';
}

void pli_ckpt_count(void)
{
    if (!pli_launcher.ckpt->is_begun) {
        pli_launcher.ckpt->is_begun = true;
        pli_launcher.ckpt->is_asked = false;
        pli_launcher.ckpt->role->count();
    }
}
