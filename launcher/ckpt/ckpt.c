// SPDX-License-Identifier: BSD-3-Clause
// One checkpoint at a time. The ranks stand still from the first that is parked until the last
// image is written; sums, the disk and the name come afterwards, while they work on. Whatever goes
// wrong, they are called back, and the checkpoints that were there stay as they are.
#include "launcher/ckpt/ckpt.h"

#include "launcher/ckpt/auto_restart.h"
#include "launcher/ranks/rank_request.h"
#include "base/clock.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "boot/ctl_wire.h"
#include "ckpt/freeze_wire.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ranks/listener.h"
#include "launcher/job/job.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/restart_trust.h"
#include "launcher/base/say.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    AGAIN_MS = 20,   // until another attempt, when a rank was not ready
    PARK_MS = 20000, // for all ranks to stand still
    SHOW_MS = 2000   // between two words about progress
};

static const bool may_go[PLI_CKPT_N_STATE][PLI_CKPT_N_STATE] = {
    [PLI_CKPT_IDLE] = { [PLI_CKPT_WAITING] = true },
    [PLI_CKPT_WAITING] = { [PLI_CKPT_PARKING] = true, [PLI_CKPT_IDLE] = true },
    [PLI_CKPT_PARKING] = { [PLI_CKPT_DRAINING] = true,
                           [PLI_CKPT_DUMPING] = true,
                           [PLI_CKPT_CALLING] = true },
    [PLI_CKPT_DRAINING] = { [PLI_CKPT_DUMPING] = true, [PLI_CKPT_CALLING] = true },
    [PLI_CKPT_DUMPING] = { [PLI_CKPT_MOVING] = true, [PLI_CKPT_CALLING] = true },
    [PLI_CKPT_MOVING] = { [PLI_CKPT_CALLING] = true },
    [PLI_CKPT_CALLING] = { [PLI_CKPT_SEALING] = true,
                           [PLI_CKPT_WAITING] = true,
                           [PLI_CKPT_IDLE] = true },
    [PLI_CKPT_SEALING] = { [PLI_CKPT_IDLE] = true },
};
static const struct {
    const char *say, *point;
} words[PLI_CKPT_N_STATE] = {
    [PLI_CKPT_IDLE] = { "over", "mpiexec_ckpt_over" },
    [PLI_CKPT_WAITING] = { "wanted", "mpiexec_ckpt_wanted" },
    [PLI_CKPT_PARKING] = { "stopping the ranks", "mpiexec_ckpt_parking" },
    [PLI_CKPT_DRAINING] = { "emptying connections", "mpiexec_ckpt_draining" },
    [PLI_CKPT_DUMPING] = { "writing images", "mpiexec_ckpt_dumping" },
    [PLI_CKPT_MOVING] = { "another host takes the ranks", "mpiexec_ckpt_moving" },
    [PLI_CKPT_CALLING] = { "calling the ranks back", "mpiexec_ckpt_calling" },
    [PLI_CKPT_SEALING] = { "sealing", "mpiexec_ckpt_sealing" },
};

static void interval_fire(struct pli_timer *t);
static void again_fire(struct pli_timer *t);

struct pli_ckpt pli_ckpt = {
    .node = { .watch = { .fd = -1 }, .report = -1 },
    .seal = { .watch = { .fd = -1 }, .report = -1 },
    .interval = { .fire = interval_fire },
    .again = { .fire = again_fire },
};

bool pli_ckpt_go(enum pli_ckpt_state to)
{
    if (!may_go[pli_ckpt.state][to]) {
        return false;
    }
    pli_ckpt.state = to;
    if (!pli_ckpt_is_stopping()) {
        pli_rank_request_resume();
    }
    if (pli_ckpt.job->opt.is_verbose && pli_ckpt.is_move) {
        pli_say("move: %s", words[to].say);
    } else if (pli_ckpt.job->opt.is_verbose) {
        pli_say("checkpoint %u: %s", pli_ckpt.plan.number, words[to].say);
    }
    pli_fault(words[to].point, 0);
    return true;
}

bool pli_ckpt_is_stopping(void)
{
    return pli_ckpt.state >= PLI_CKPT_PARKING && pli_ckpt.state <= PLI_CKPT_CALLING;
}

void pli_ckpt_cancel(void)
{
    bool is_on = pli_ckpt.job != NULL && pli_ckpt.state >= PLI_CKPT_PARKING &&
                 pli_ckpt.state <= PLI_CKPT_MOVING;
    if (!is_on || pli_ckpt.job->is_daemon) { // there mpiexec decides
        return;
    }
    pli_ckpt_fail(ECANCELED, "the job is ending");
    if (pli_job_is_head(pli_ckpt.job)) {
        pli_ckpt_head_go_on(pli_ckpt.job);
    } else if (pli_ckpt.state != PLI_CKPT_DRAINING) { // else ranks cannot stay as they are any more
        pli_ckpt_ranks_call_back();
    }
}

static void arm_interval(void)
{
    if (pli_ckpt.job->opt.ckpt_interval > 0) {
        pli_loop_timer(&pli_ckpt.interval, (uint64_t)(pli_ckpt.job->opt.ckpt_interval * 1e9));
    }
}

// Who asks from now on means the next one.
void pli_ckpt_count(void)
{
    if (!pli_ckpt.is_begun) {
        pli_ckpt.is_begun = true;
        pli_ckpt.is_asked = false;
        if (pli_ckpt.job->is_daemon) {
            return; // mpiexec counts
        }
        atomic_fetch_add(&pli_node_save(pli_ckpt.job->node.header)->n_begun, 1);
    }
}

static void want(void);

static void finish(void)
{
    struct pli_answer a = { .error = pli_ckpt.error,
                            .first = pli_ckpt.plan.number,
                            .n = pli_ckpt.n_rank };
    snprintf(a.text, sizeof a.text, "%.*s", (int)sizeof a.text - 1, pli_ckpt.why);
    pli_ckpt.again.at = pli_ckpt.park.at = pli_ckpt.show.at = 0;
    pli_ckpt_count();
    pli_ckpt.is_begun = false;
    pli_ckpt_wait_end(pli_ckpt.job, &a);
    arm_interval();
    if (pli_ckpt.is_asked) {
        want();
    }
}

void pli_ckpt_fail(int error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (pli_ckpt.error == 0) {
        pli_ckpt.error = error != 0 ? error : EIO;
        vsnprintf(pli_ckpt.why, sizeof pli_ckpt.why, fmt, ap);
    }
    va_end(ap);
}

// Nobody waits for a checkpoint in vain because ranks were moved first.
static void end_move(void)
{
    pli_ckpt_go(PLI_CKPT_IDLE);
    pli_ckpt.is_move = false;
    pli_ckpt.again.at = 0;
    arm_interval();
    pli_ckpt.move_ops->over(pli_ckpt.error, pli_ckpt.why);
    if (pli_ckpt.is_asked || pli_ckpt_wait_is_any()) {
        want();
    }
}

static void give_up(void)
{
    if (pli_ckpt.is_move) {
        end_move();
        return;
    }
    pli_say("no checkpoint was made: %s", pli_ckpt.why);
    pli_ckpt_go(PLI_CKPT_IDLE);
    finish();
}

static void again_fire(struct pli_timer *t)
{
    if (pli_ckpt.state != PLI_CKPT_WAITING) {
        return;
    }
    const char *why = pli_ckpt_obstacle(pli_ckpt.job);
    if (why != NULL) {
        pli_ckpt_fail(ENOTSUP, "%s", why);
        give_up();
    } else if (!pli_ckpt_is_ready(pli_ckpt.job)) {
        pli_loop_timer(t, (uint64_t)AGAIN_MS * PLI_MS);
    } else {
        pli_job_is_head(pli_ckpt.job) ? pli_ckpt_head_stop() : pli_ckpt_ranks_stop();
    }
}

static void want(void)
{
    if (pli_ckpt.job != NULL && pli_ckpt.job->opt.is_state) {
        pli_ckpt_state_want();
        return;
    }
    if (pli_ckpt.state == PLI_CKPT_IDLE && pli_ckpt.job != NULL && pli_ckpt_go(PLI_CKPT_WAITING)) {
        pli_ckpt.error = 0;
        pli_ckpt.why[0] = '\0';
        pli_ckpt.interval.at = 0;
        pli_ckpt.start_ns = pli_clock_ns();
        pli_ckpt_number(&pli_ckpt.plan);
        pli_loop_timer(&pli_ckpt.again, 0);
    }
}

bool pli_ckpt_move(uint32_t host, const struct pli_ckpt_move_ops *ops)
{
    if (pli_ckpt.state != PLI_CKPT_IDLE) {
        return false;
    }
    pli_ckpt.is_move = true;
    pli_ckpt.move_ops = ops;
    pli_ckpt.mover = host;
    pli_ckpt_go(PLI_CKPT_WAITING);
    pli_ckpt.error = 0;
    pli_ckpt.why[0] = '\0';
    pli_ckpt.interval.at = 0;
    pli_ckpt.plan.temp[0] = '\0';
    pli_loop_timer(&pli_ckpt.again, 0);
    return true;
}

static void interval_fire(struct pli_timer *t)
{
    (void)t;
    want();
}

bool pli_ckpt_ask(void *token, struct pli_answer *a)
{
    a->error = EPERM;
    if (pli_ckpt.job == NULL || pli_ckpt.job->opt.ckpt_dir == NULL) {
        snprintf(
            a->text, sizeof a->text,
            "the job was started without checkpoints; mpiexec --checkpoint-dir DIR allows them");
        return true;
    }
    if (pli_ckpt_wait_add(token)) {
        want();
        return false;
    }
    a->error = EBUSY;
    snprintf(a->text, sizeof a->text, "too many wait for a checkpoint already");
    return true;
}

void pli_ckpt_save(void)
{
    if (pli_ckpt.job != NULL && pli_ckpt.job->is_daemon) {
        pli_ckpt_daemon_report(PLI_PART_ASKED);
        return;
    }
    pli_ckpt.is_asked = true;
    want();
}

static void seal_done(struct pli_helper *h, bool is_good)
{
    char text[PLI_CKPT_WHY];
    if (!is_good) {
        pli_helper_reason(h, text, sizeof text);
        pli_ckpt_fail(EIO, "%s", text);
        pli_ckpt_remove(pli_ckpt.plan.temp);
        give_up();
        return;
    }
    pli_ckpt_go(PLI_CKPT_IDLE);
    uint64_t now = pli_clock_ns();
    pli_say("checkpoint %u of %u ranks is in %s: %.2f s, of which the ranks stood still %.2f s",
            pli_ckpt.plan.number, pli_ckpt.n_rank, pli_ckpt.plan.dir,
            (double)(now - pli_ckpt.start_ns) * 1e-9,
            (double)(pli_ckpt.go_ns - pli_ckpt.stop_ns) * 1e-9);
    pli_restart_trust_warn(pli_ckpt.plan.dir, pli_ckpt.plan.number);
    finish();
}

// The ranks are back: what was written becomes a checkpoint, or is thrown away.
void pli_ckpt_all_back(struct pli_job *job)
{
    if (pli_ckpt.state != PLI_CKPT_CALLING) {
        return;
    }
    if (job->is_daemon) {
        pli_ckpt_daemon_back(job);
        return;
    }
    if (pli_ckpt.is_move && (pli_ckpt.error != 0 || !pli_ckpt.is_again)) {
        end_move();
        return;
    }
    pli_ckpt.go_ns = pli_clock_ns();
    if (pli_ckpt.error == 0 && !pli_ckpt.is_again) {
        pli_ckpt_go(PLI_CKPT_SEALING);
        if (pli_helper_fork(&pli_ckpt.seal, pli_ckpt_commit, &pli_ckpt.plan)) {
            pli_ckpt.seal.done = seal_done;
            pli_helper_watch(&pli_ckpt.seal);
            return;
        }
        pli_ckpt_fail(errno, "mpiexec cannot start a process");
    }
    pli_ckpt_remove(pli_ckpt.plan.temp);
    if (pli_ckpt.error == 0) {
        pli_ckpt_go(PLI_CKPT_WAITING);
        pli_loop_timer(&pli_ckpt.again, (uint64_t)AGAIN_MS * PLI_MS);
        return;
    }
    give_up();
}

// The ranks of this host are to be written as processes.
static bool open_ranks(struct pli_job *job)
{
    char why[PLI_CKPT_WHY];
    if (job->opt.ckpt_dir != NULL && !pli_criu_check(why)) {
        pli_say("checkpoints cannot be made: %s", why);
        return false;
    }
    pli_ckpt_ranks_open();
    pli_ckpt.has_net = (job->node.header->net & PLI_NODE_HAS_DOOR) != 0;
    pli_ckpt.ranks = calloc(job->n_first + job->node.header->n_more, sizeof *pli_ckpt.ranks);
    return pli_ckpt.ranks != NULL && pli_ckpt_resume_open(job, pli_ckpt_all_back);
}

bool pli_ckpt_open_part(struct pli_job *job)
{
    if ((job->opt.ckpt_dir == NULL && !job->opt.is_movable) || job->opt.is_state) {
        return true;
    }
    pli_ckpt.job = pli_ckpt.plan.job = job;
    pli_ckpt.plan.owner = getpid();
    return open_ranks(job);
}

// No checkpoints are made, but ranks may have to stand still.
static void open_moves(struct pli_job *job)
{
    pli_ckpt.job = pli_ckpt.plan.job = job;
    pli_ckpt.plan.owner = getpid();
    pli_node_save(job->node.header)->how = PLI_NODE_SAVE_MOVE;
    pli_ckpt_head_open(job);
}

bool pli_ckpt_open(struct pli_job *job, char **argv)
{
    if (job->opt.ckpt_dir == NULL) {
        if (job->opt.is_movable) {
            open_moves(job);
        }
        return true;
    }
    if ((mkdir(job->opt.ckpt_dir, 0700) != 0 && errno != EEXIST) ||
        realpath(job->opt.ckpt_dir, pli_ckpt.plan.dir) == NULL ||
        access(pli_ckpt.plan.dir, R_OK | W_OK | X_OK) != 0) {
        pli_say("--checkpoint-dir %s cannot be used: %s", job->opt.ckpt_dir, strerror(errno));
        return false;
    }
    job->opt.ckpt_dir = pli_ckpt.plan.dir;
    pli_restart_trust_warn(pli_ckpt.plan.dir, 0);
    pli_ckpt.plan.first = pli_ckpt_last(pli_ckpt.plan.dir, UINT32_MAX) + 1;
    pli_ckpt.plan.good =
        job->restart_dir != NULL && strcmp(job->restart_dir, job->opt.ckpt_dir) == 0
            ? pli_ckpt_number_of(job->from->dir)
            : pli_ckpt.plan.first;
    pli_auto_restart_open(job, pli_ckpt.plan.dir);
    pli_ckpt.job = job;
    pli_ckpt.plan.job = job;
    pli_ckpt.plan.words = argv;
    pli_ckpt.plan.keep = job->opt.ckpt_keep;
    pli_ckpt.plan.owner = getpid();
    if (job->opt.is_state) {
        pli_ckpt_state_open(&pli_ckpt.plan);
        return true;
    }
    pli_node_save(job->node.header)->how = PLI_NODE_SAVE_IMAGE;
    if (pli_job_is_head(job)) {
        pli_ckpt_head_open(job);
        return true;
    }
    return open_ranks(job);
}

void pli_ckpt_begin(void)
{
    if (pli_ckpt.job != NULL && !pli_ckpt.job->opt.is_state) {
        arm_interval();
    }
}

void pli_ckpt_end(void)
{
    pli_ckpt_hosts_unmark();
    pli_ckpt_state_end();
    if (pli_ckpt.job == NULL || pli_ckpt.state == PLI_CKPT_IDLE) {
        return;
    }
    while (pli_ckpt.state == PLI_CKPT_SEALING &&
           pli_ckpt.seal.pid > 0) { // complete: it deserves its name
        pli_loop_once(true);
    }
    if (pli_ckpt.state != PLI_CKPT_IDLE) {
        pli_ckpt_fail(ECANCELED, "the job ended");
        pli_ckpt_ranks_drop();
        pli_ckpt_remove(pli_ckpt.plan.temp);
    }
}
