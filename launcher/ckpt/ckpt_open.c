// SPDX-License-Identifier: BSD-3-Clause
// Prepares a launcher process for checkpoints, and chooses what it does about them by its role.
#include "launcher/ckpt/ckpt_open.h"

#include "boot/ckpt_wire.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/auto_restart.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/ckpt_daemon.h"
#include "launcher/ckpt/ckpt_registered.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/restart_trust.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pli_ckpt_open_daemon(struct pli_job *job)
{
    pli_launcher.ckpt->role = &pli_ckpt_daemon_role;
    if ((job->opt.ckpt_dir == NULL && !job->opt.is_movable) || job->opt.is_state) {
        return true;
    }
    pli_launcher.ckpt->job = pli_launcher.ckpt->plan.job = job;
    pli_launcher.ckpt->plan.owner = getpid();
    return pli_ckpt_daemon_role.open(job);
}

// No checkpoints are made, but ranks may have to stand still.
enum { KEEP = 2 }; // checkpoints, unless --checkpoint-keep says how many

static bool open_moves(struct pli_job *job)
{
    pli_launcher.ckpt->job = pli_launcher.ckpt->plan.job = job;
    pli_launcher.ckpt->plan.owner = getpid();
    pli_node_save(job->node.header)->how = PLI_NODE_SAVE_MOVE;
    return pli_launcher.ckpt->role->open(job);
}

// 0, or errno.
static int make_dir(const char *name, char full[PATH_MAX])
{
    struct stat st;
    if ((mkdir(name, 0700) != 0 && errno != EEXIST) || realpath(name, full) == NULL ||
        stat(full, &st) != 0) {
        return errno;
    }
    return !S_ISDIR(st.st_mode) ? ENOTDIR : access(full, R_OK | W_OK | X_OK) != 0 ? errno : 0;
}

static bool open_dir(struct pli_job *job)
{
    struct pli_ckpt_plan *plan = &pli_launcher.ckpt->plan;
    errno = make_dir(job->opt.ckpt_dir, plan->dir);
    if (errno != 0) {
        pli_say("--checkpoint-dir %s cannot be used: %s", job->opt.ckpt_dir, strerror(errno));
        return false;
    }
    job->opt.ckpt_dir = plan->dir;
    pli_restart_trust_warn(plan->dir, 0);
    plan->first = pli_ckpt_last(plan->dir, UINT32_MAX) + 1;
    plan->good = job->restart_dir != NULL && strcmp(job->restart_dir, job->opt.ckpt_dir) == 0
                     ? pli_ckpt_number_of(job->from->dir)
                     : plan->first;
    plan->increments = job->opt.is_state ? 0 : job->opt.ckpt_increments;
    if (plan->good < plan->first && plan->good > 0) {
        plan->last = plan->good;
        plan->last_depth = job->from->depth;
    }
    return true;
}

bool pli_ckpt_open(struct pli_job *job, const struct pli_ckpt_role *role)
{
    pli_launcher.ckpt->role = role;
    if (job->opt.ckpt_dir == NULL) {
        return !job->opt.is_movable || open_moves(job);
    }
    if (!open_dir(job)) {
        return false;
    }
    pli_auto_restart_open(job, pli_launcher.ckpt->plan.dir);
    pli_launcher.ckpt->job = job;
    pli_launcher.ckpt->plan.job = job;
    pli_launcher.ckpt->plan.words = job->words;
    pli_launcher.ckpt->plan.keep = job->opt.ckpt_keep > 0 ? job->opt.ckpt_keep : KEEP;
    pli_launcher.ckpt->plan.owner = getpid();
    if (job->opt.is_state) {
        pli_ckpt_registered_open(&pli_launcher.ckpt->plan);
        return true;
    }
    pli_node_save(job->node.header)->how = PLI_NODE_SAVE_IMAGE;
    return role->open(job);
}
