// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of what programs register: the ranks write it themselves, when they are ready, and
// mpiexec gives them a directory and makes a checkpoint of it.
#include "launcher/ckpt/ckpt_registered.h"

#include "base/clock.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_commit.h"
#include "launcher/ckpt/ckpt_describe.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_wait.h"
#include "launcher/job/job.h"
#include "launcher/ckpt/restart_trust.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void interval_fire(struct pli_timer *t)
{
    (void)t;
    pli_ckpt_registered_want();
}

static void arm(void)
{
    if (pli_launcher.ckpt->registered.plan.job->opt.ckpt_interval > 0) {
        pli_launcher.ckpt->registered.interval.fire = interval_fire;
        pli_loop_timer(&pli_launcher.ckpt->registered.interval,
                       (uint64_t)(pli_launcher.ckpt->registered.plan.job->opt.ckpt_interval * 1e9));
    }
}

void pli_ckpt_registered_want(void)
{
    struct pli_node_save *save = pli_node_save(pli_launcher.ckpt->registered.plan.job->node.header);
    atomic_store(&save->wanted,
                 atomic_load(&save->n_begun) +
                     (pli_launcher.ckpt->registered.state == PLI_CKPT_S_IDLE ? 1 : 0));
    pli_ckpt_hosts_tell(pli_launcher.ckpt->registered.plan.job);
}

void pli_ckpt_registered_open(const struct pli_ckpt_plan *plan)
{
    pli_launcher.ckpt->registered.plan = *plan;
    pli_node_save(plan->job->node.header)->how = PLI_NODE_SAVE_STATE;
    arm();
}

static void finish(int error, const char *why)
{
    struct pli_answer a = { .error = error,
                            .first = pli_launcher.ckpt->registered.plan.number,
                            .n = pli_launcher.ckpt->registered.n_piece };
    snprintf(a.text, sizeof a.text, "%.*s", (int)sizeof a.text - 1, why);
    pli_launcher.ckpt->registered.state = PLI_CKPT_S_IDLE;
    if (error != 0) {
        pli_say("no checkpoint was made: %s", why);
        pli_ckpt_remove(pli_launcher.ckpt->registered.plan.temp);
    } else {
        pli_say("checkpoint %u, the state of %u ranks, is in %s: %.2f s",
                pli_launcher.ckpt->registered.plan.number, pli_launcher.ckpt->registered.n_piece,
                pli_launcher.ckpt->registered.plan.dir,
                (double)(pli_clock_ns() - pli_launcher.ckpt->registered.start_ns) * 1e-9);
        pli_restart_trust_warn(pli_launcher.ckpt->registered.plan.dir,
                               pli_launcher.ckpt->registered.plan.number);
    }
    pli_ckpt_wait_end(pli_launcher.ckpt->registered.plan.job, &a);
    arm();
}

void pli_ckpt_registered_begin(struct pli_answer *a)
{
    if (pli_launcher.ckpt->registered.plan.job == NULL) {
        a->error = EINVAL;
        snprintf(a->text, sizeof a->text,
                 "this job makes no checkpoints of registered state; start it with "
                 "--checkpoint-dir DIR --checkpoint-mode state");
        return;
    }
    struct pli_node_save *save = pli_node_save(pli_launcher.ckpt->registered.plan.job->node.header);
    if (pli_launcher.ckpt->registered.state != PLI_CKPT_S_IDLE) {
        a->error = EBUSY;
        snprintf(a->text, sizeof a->text, "another checkpoint is being written");
        return;
    }
    pli_launcher.ckpt->registered.start_ns = pli_clock_ns();
    pli_ckpt_number(&pli_launcher.ckpt->registered.plan);
    pli_ckpt_remove(pli_launcher.ckpt->registered.plan.temp);
    if (strlen(pli_launcher.ckpt->registered.plan.temp) >= sizeof save->to) {
        a->error = ENAMETOOLONG;
        snprintf(a->text, sizeof a->text, "the name of the directory is too long");
    } else if (mkdir(pli_launcher.ckpt->registered.plan.temp, 0700) != 0) {
        a->error = errno;
        snprintf(a->text, sizeof a->text, "%.180s: %s", pli_launcher.ckpt->registered.plan.temp,
                 strerror(errno));
    } else {
        snprintf(save->to, sizeof save->to, "%.1023s", pli_launcher.ckpt->registered.plan.temp);
        atomic_fetch_add(&save->n_begun, 1);
        pli_launcher.ckpt->registered.state = PLI_CKPT_S_WRITING;
        pli_ckpt_hosts_tell(pli_launcher.ckpt->registered.plan.job);
        pli_fault("mpiexec_state_writing", 0);
        a->first = pli_launcher.ckpt->registered.plan.number;
    }
}

static void commit_done(struct pli_helper *h, bool is_good)
{
    char text[PLI_CKPT_WHY] = "";
    if (is_good) {
        pli_say_note("a checkpoint was made");
    }
    if (!is_good) {
        pli_helper_reason(h, text, sizeof text);
    }
    finish(is_good ? 0 : EIO, text);
}

bool pli_ckpt_registered_commit(void *token, const void *body, size_t len, struct pli_answer *a)
{
    struct pli_ask_seal ask;
    if (pli_launcher.ckpt->registered.state != PLI_CKPT_S_WRITING || len != sizeof ask) {
        a->error = EINVAL;
        snprintf(a->text, sizeof a->text, "no checkpoint is being written");
        return true;
    }
    memcpy(&ask, body, sizeof ask);
    pli_launcher.ckpt->registered.n_piece = ask.n_piece;
    if (ask.is_good == 0) {
        finish(EIO, "a rank could not write its state");
        a->error = EIO;
        return true;
    }
    bool is_begun =
        pli_ckpt_wait_add(token) && pli_ckpt_describe(&pli_launcher.ckpt->registered.plan,
                                                      &(struct pli_ckpt_what){ .n = ask.n_piece });
    if (is_begun) {
        pli_launcher.ckpt->registered.state = PLI_CKPT_S_COMMITTING;
        pli_fault("mpiexec_state_committing", 0);
    }
    if (!is_begun || !pli_helper_fork(&pli_launcher.ckpt->registered.commit, pli_ckpt_commit,
                                      &pli_launcher.ckpt->registered.plan)) {
        finish(errno, "mpiexec cannot start a process for it"); // answers token too
        return false;
    }
    pli_launcher.ckpt->registered.commit.done = commit_done;
    pli_helper_watch(&pli_launcher.ckpt->registered.commit);
    return false;
}

void pli_ckpt_registered_end(void)
{
    while (pli_launcher.ckpt->registered.state == PLI_CKPT_S_COMMITTING &&
           pli_launcher.ckpt->registered.commit.pid > 0) {
        pli_loop_once(true);
    }
    if (pli_launcher.ckpt->registered.state == PLI_CKPT_S_WRITING) {
        pli_ckpt_remove(pli_launcher.ckpt->registered.plan.temp);
    }
}
