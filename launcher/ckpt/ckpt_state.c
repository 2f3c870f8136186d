// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of what programs register: the ranks write it themselves, when they are ready, and
// mpiexec gives them a directory and makes a checkpoint of it.
#include "launcher/ckpt/ckpt_state.h"

#include "base/clock.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/job/job.h"
#include "launcher/ckpt/restart_trust.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum state { S_IDLE, S_WRITING, S_SEALING };

static struct {
    enum state state;
    struct pli_ckpt_plan plan;
    struct pli_helper seal;
    struct pli_timer interval;
    uint64_t start_ns;
    uint32_t n_piece;
} s = { .seal = { .watch = { .fd = -1 }, .report = -1 } };

static void interval_fire(struct pli_timer *t)
{
    (void)t;
    pli_ckpt_state_want();
}

static void arm(void)
{
    if (s.plan.job->opt.ckpt_interval > 0) {
        s.interval.fire = interval_fire;
        pli_loop_timer(&s.interval, (uint64_t)(s.plan.job->opt.ckpt_interval * 1e9));
    }
}

void pli_ckpt_state_want(void)
{
    struct pli_node_save *save = pli_node_save(s.plan.job->node.header);
    atomic_store(&save->wanted, atomic_load(&save->n_begun) + (s.state == S_IDLE ? 1 : 0));
    pli_ckpt_hosts_tell(s.plan.job);
}

void pli_ckpt_state_open(const struct pli_ckpt_plan *plan)
{
    s.plan = *plan;
    pli_node_save(plan->job->node.header)->how = PLI_NODE_SAVE_STATE;
    arm();
}

static void finish(int error, const char *why)
{
    struct pli_answer a = { .error = error, .first = s.plan.number, .n = s.n_piece };
    snprintf(a.text, sizeof a.text, "%.*s", (int)sizeof a.text - 1, why);
    s.state = S_IDLE;
    if (error != 0) {
        pli_say("no checkpoint was made: %s", why);
        pli_ckpt_remove(s.plan.temp);
    } else {
        pli_say("checkpoint %u, the state of %u ranks, is in %s: %.2f s", s.plan.number, s.n_piece,
                s.plan.dir, (double)(pli_clock_ns() - s.start_ns) * 1e-9);
        pli_restart_trust_warn(s.plan.dir, s.plan.number);
    }
    pli_ckpt_wait_end(s.plan.job, &a);
    arm();
}

void pli_ckpt_state_begin(struct pli_answer *a)
{
    struct pli_node_save *save = pli_node_save(s.plan.job->node.header);
    if (s.plan.job == NULL || s.state != S_IDLE) {
        a->error = EBUSY;
        snprintf(a->text, sizeof a->text, "another checkpoint is being written");
        return;
    }
    s.start_ns = pli_clock_ns();
    pli_ckpt_number(&s.plan);
    pli_ckpt_remove(s.plan.temp);
    if (strlen(s.plan.temp) >= sizeof save->to) {
        a->error = ENAMETOOLONG;
        snprintf(a->text, sizeof a->text, "the name of the directory is too long");
    } else if (mkdir(s.plan.temp, 0700) != 0) {
        a->error = errno;
        snprintf(a->text, sizeof a->text, "%.180s: %s", s.plan.temp, strerror(errno));
    } else {
        snprintf(save->to, sizeof save->to, "%.1023s", s.plan.temp);
        atomic_fetch_add(&save->n_begun, 1);
        s.state = S_WRITING;
        pli_ckpt_hosts_tell(s.plan.job);
        pli_fault("mpiexec_state_writing", 0);
        a->first = s.plan.number;
    }
}

static void seal_done(struct pli_helper *h, bool is_good)
{
    char text[PLI_CKPT_WHY] = "";
    if (!is_good) {
        pli_helper_reason(h, text, sizeof text);
    }
    finish(is_good ? 0 : EIO, text);
}

bool pli_ckpt_state_seal(void *token, const void *body, size_t len, struct pli_answer *a)
{
    struct pli_ask_seal ask;
    if (s.state != S_WRITING || len != sizeof ask) {
        a->error = EINVAL;
        snprintf(a->text, sizeof a->text, "no checkpoint is being written");
        return true;
    }
    memcpy(&ask, body, sizeof ask);
    s.n_piece = ask.n_piece;
    if (ask.is_good == 0) {
        finish(EIO, "a rank could not write its state");
        a->error = EIO;
        return true;
    }
    if (!pli_ckpt_wait_add(token) ||
        !pli_ckpt_describe(&s.plan, &(struct pli_ckpt_what){ .n = ask.n_piece }) ||
        !pli_helper_fork(&s.seal, pli_ckpt_commit, &s.plan)) {
        finish(errno, "mpiexec cannot start a process for it"); // answers token too
        return false;
    }
    s.state = S_SEALING;
    pli_fault("mpiexec_state_sealing", 0);
    s.seal.done = seal_done;
    pli_helper_watch(&s.seal);
    return false;
}

void pli_ckpt_state_end(void)
{
    while (s.state == S_SEALING && s.seal.pid > 0) {
        pli_loop_once(true);
    }
    if (s.state == S_WRITING) {
        pli_ckpt_remove(s.plan.temp);
    }
}
