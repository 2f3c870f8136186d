// SPDX-License-Identifier: BSD-3-Clause
// Makes checkpoints, one at a time. The ranks stand still from the first that stops until the last
// image is written; sums, the disk and the name come afterwards, while they work on. Whatever goes
// wrong, they resume, and the checkpoints that were there stay as they are.
#include "launcher/ckpt/ckpt.h"

#include "base/clock.h"
#include "boot/ckpt_wire.h"
#include "boot/launcher_wire.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_commit.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/ckpt_registered.h"
#include "launcher/ckpt/ckpt_wait.h"
#include "launcher/ckpt/restart_trust.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <stdio.h>

enum { AGAIN_MS = 20 }; // until another attempt, when a rank was not ready

static void interval_fire(struct pli_timer *t);
static void again_fire(struct pli_timer *t);

void pli_ckpt_cancel(void)
{
    if (pli_launcher.ckpt->job != NULL && pli_launcher.ckpt->state >= PLI_CKPT_STOPPING &&
        pli_launcher.ckpt->state <= PLI_CKPT_MOVING) {
        pli_launcher.ckpt->role->cancel();
    }
}

static void arm_interval(void)
{
    if (pli_launcher.ckpt->job->opt.ckpt_interval > 0) {
        pli_launcher.ckpt->interval.fire = interval_fire;
        pli_loop_timer(&pli_launcher.ckpt->interval,
                       (uint64_t)(pli_launcher.ckpt->job->opt.ckpt_interval * 1e9));
    }
}

static void try_in(uint64_t ns)
{
    pli_launcher.ckpt->again.fire = again_fire;
    pli_loop_timer(&pli_launcher.ckpt->again, ns);
}

void pli_ckpt_count_attempt(void)
{
    atomic_fetch_add(&pli_node_save(pli_launcher.ckpt->job->node.header)->n_begun, 1);
}

static void finish(void)
{
    struct pli_answer a = { .error = pli_launcher.ckpt->error,
                            .first = pli_launcher.ckpt->plan.number,
                            .n = pli_launcher.ckpt->n_rank };
    snprintf(a.text, sizeof a.text, "%.*s", (int)sizeof a.text - 1, pli_launcher.ckpt->why);
    pli_launcher.ckpt->again.at = pli_launcher.ckpt->deadline.at = pli_launcher.ckpt->show.at = 0;
    pli_ckpt_count();
    pli_launcher.ckpt->is_begun = false;
    pli_ckpt_wait_end(pli_launcher.ckpt->job, &a);
    arm_interval();
    if (pli_launcher.ckpt->is_asked) {
        pli_ckpt_want();
    }
}

// A checkpoint that was asked for while ranks were moved comes now.
static void end_move(void)
{
    pli_ckpt_go(PLI_CKPT_IDLE);
    pli_launcher.ckpt->is_move = false;
    pli_launcher.ckpt->again.at = 0;
    arm_interval();
    pli_launcher.ckpt->move_ops->over(pli_launcher.ckpt->error, pli_launcher.ckpt->why);
    if (pli_launcher.ckpt->is_asked || pli_ckpt_wait_is_any()) {
        pli_ckpt_want();
    }
}

static void give_up(void)
{
    if (pli_launcher.ckpt->is_move) {
        end_move();
        return;
    }
    pli_say("no checkpoint was made: %s", pli_launcher.ckpt->why);
    pli_ckpt_go(PLI_CKPT_IDLE);
    finish();
}

static void again_fire(struct pli_timer *t)
{
    (void)t;
    if (pli_launcher.ckpt->state != PLI_CKPT_WAITING) {
        return;
    }
    const char *why = pli_ckpt_obstacle(pli_launcher.ckpt->job);
    if (why != NULL) {
        pli_ckpt_fail(ENOTSUP, "%s", why);
        give_up();
    } else if (!pli_ckpt_is_ready(pli_launcher.ckpt->job)) {
        try_in((uint64_t)AGAIN_MS * PLI_MS);
    } else {
        pli_launcher.ckpt->role->stop();
    }
}

void pli_ckpt_want(void)
{
    if (pli_launcher.ckpt->job != NULL && pli_launcher.ckpt->job->opt.is_state) {
        pli_ckpt_registered_want();
        return;
    }
    if (pli_launcher.ckpt->state == PLI_CKPT_IDLE && pli_launcher.ckpt->job != NULL &&
        pli_ckpt_go(PLI_CKPT_WAITING)) {
        pli_ckpt_clear();
        pli_launcher.ckpt->interval.at = 0;
        pli_launcher.ckpt->start_ns = pli_clock_ns();
        pli_ckpt_number(&pli_launcher.ckpt->plan);
        try_in(0);
    }
}

bool pli_ckpt_move(uint32_t host, const struct pli_ckpt_move_ops *ops)
{
    if (pli_launcher.ckpt->state != PLI_CKPT_IDLE) {
        return false;
    }
    pli_launcher.ckpt->is_move = true;
    pli_launcher.ckpt->move_ops = ops;
    pli_launcher.ckpt->moved_host = host;
    pli_ckpt_go(PLI_CKPT_WAITING);
    pli_ckpt_clear();
    pli_launcher.ckpt->interval.at = 0;
    pli_launcher.ckpt->plan.temp[0] = '\0';
    try_in(0);
    return true;
}

static void interval_fire(struct pli_timer *t)
{
    (void)t;
    pli_ckpt_want();
}

bool pli_ckpt_ask(void *token, struct pli_answer *a)
{
    a->error = EPERM;
    if (pli_launcher.ckpt->job == NULL || pli_launcher.ckpt->job->opt.ckpt_dir == NULL) {
        snprintf(
            a->text, sizeof a->text,
            "the job was started without checkpoints; mpiexec --checkpoint-dir DIR allows them");
        return true;
    }
    if (pli_ckpt_wait_add(token)) {
        pli_ckpt_want();
        return false;
    }
    a->error = EBUSY;
    snprintf(a->text, sizeof a->text, "too many wait for a checkpoint already");
    return true;
}

void pli_ckpt_save(void)
{
    if (pli_launcher.ckpt->job != NULL) {
        pli_launcher.ckpt->is_asked = true;
        pli_launcher.ckpt->role->save();
    }
}

static void commit_done(struct pli_helper *h, bool is_good)
{
    char text[PLI_CKPT_WHY];
    if (is_good) {
        pli_say_note("a checkpoint was made");
    }
    if (!is_good) {
        pli_helper_reason(h, text, sizeof text);
        pli_ckpt_fail(EIO, "%s", text);
        pli_ckpt_remove(pli_launcher.ckpt->plan.temp);
        give_up();
        return;
    }
    pli_ckpt_go(PLI_CKPT_IDLE);
    uint64_t now = pli_clock_ns();
    pli_say("checkpoint %u of %u ranks is in %s: %.2f s, of which the ranks stood still %.2f s",
            pli_launcher.ckpt->plan.number, pli_launcher.ckpt->n_rank, pli_launcher.ckpt->plan.dir,
            (double)(now - pli_launcher.ckpt->start_ns) * 1e-9,
            (double)(pli_launcher.ckpt->go_ns - pli_launcher.ckpt->stop_ns) * 1e-9);
    pli_launcher.ckpt->plan.last = pli_launcher.ckpt->plan.number;
    pli_launcher.ckpt->plan.last_depth = pli_launcher.ckpt->plan.depth;
    pli_restart_trust_warn(pli_launcher.ckpt->plan.dir, pli_launcher.ckpt->plan.number);
    finish();
}

void pli_ckpt_finish(struct pli_job *job)
{
    (void)job;
    if (pli_launcher.ckpt->is_move &&
        (pli_launcher.ckpt->error != 0 || !pli_launcher.ckpt->is_again)) {
        end_move();
        return;
    }
    if (!pli_launcher.ckpt->has_copies) { // else that was before their copies were written
        pli_launcher.ckpt->go_ns = pli_clock_ns();
    }
    if (pli_launcher.ckpt->error == 0 && !pli_launcher.ckpt->is_again) {
        pli_ckpt_go(PLI_CKPT_COMMITTING);
        if (pli_helper_fork(&pli_launcher.ckpt->commit, pli_ckpt_commit,
                            &pli_launcher.ckpt->plan)) {
            pli_launcher.ckpt->commit.done = commit_done;
            pli_helper_watch(&pli_launcher.ckpt->commit);
            return;
        }
        pli_ckpt_fail(errno, "mpiexec cannot start a process");
    }
    pli_ckpt_remove(pli_launcher.ckpt->plan.temp);
    if (pli_launcher.ckpt->error == 0) {
        pli_ckpt_go(PLI_CKPT_WAITING);
        try_in((uint64_t)AGAIN_MS * PLI_MS);
        return;
    }
    give_up();
}

void pli_ckpt_begin(void)
{
    if (pli_launcher.ckpt->job != NULL && !pli_launcher.ckpt->job->opt.is_state) {
        arm_interval();
    }
}

void pli_ckpt_end(void)
{
    pli_ckpt_hosts_unmark();
    pli_ckpt_registered_end();
    if (pli_launcher.ckpt->job == NULL || pli_launcher.ckpt->state == PLI_CKPT_IDLE) {
        return;
    }
    // All ranks or their copies are written, or can be: it gets its name.
    while (
        (pli_launcher.ckpt->state == PLI_CKPT_WRITING && !pli_launcher.ckpt->role->is_written()) ||
        (pli_launcher.ckpt->state == PLI_CKPT_COMMITTING && pli_launcher.ckpt->commit.pid > 0)) {
        pli_loop_once(true);
    }
    if (pli_launcher.ckpt->state != PLI_CKPT_IDLE) {
        pli_ckpt_fail(ECANCELED, "the job ended");
        pli_ckpt_ranks_drop();
        pli_ckpt_remove(pli_launcher.ckpt->plan.temp);
    }
}
