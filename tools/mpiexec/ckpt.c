// SPDX-License-Identifier: BSD-3-Clause
// One checkpoint at a time. The ranks stand still from the first that is parked until the last
// image is written; sums, the disk and the name come afterwards, while they work on. Whatever goes
// wrong, they are called back, and the checkpoints that were there stay as they are.
#include "ckpt.h"

#include "again.h"
#include "base/clock.h"
#include "base/fault.h"
#include "boot/ask_wire.h"
#include "boot/ctl_wire.h"
#include "boot/park_wire.h"
#include "boot/save_wire.h"
#include "ckpt_back.h"
#include "ckpt_hosts.h"
#include "ckpt_priv.h"
#include "ckpt_state.h"
#include "job.h"
#include "say.h"
#include "warden.h"

#include <errno.h>
#include <signal.h>
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

enum state { S_IDLE, S_WAITING, S_PARKING, S_DUMPING, S_CALLING, S_SEALING, N_STATE };
static const bool may_go[N_STATE][N_STATE] = {
    [S_IDLE] = { [S_WAITING] = true },
    [S_WAITING] = { [S_PARKING] = true, [S_IDLE] = true },
    [S_PARKING] = { [S_DUMPING] = true, [S_CALLING] = true },
    [S_DUMPING] = { [S_CALLING] = true },
    [S_CALLING] = { [S_SEALING] = true, [S_WAITING] = true, [S_IDLE] = true },
    [S_SEALING] = { [S_IDLE] = true },
};
static const struct {
    const char *say, *point;
} words[N_STATE] = {
    [S_IDLE] = { "over", "mpiexec_ckpt_over" },
    [S_WAITING] = { "wanted", "mpiexec_ckpt_wanted" },
    [S_PARKING] = { "stopping the ranks", "mpiexec_ckpt_parking" },
    [S_DUMPING] = { "writing images", "mpiexec_ckpt_dumping" },
    [S_CALLING] = { "calling the ranks back", "mpiexec_ckpt_calling" },
    [S_SEALING] = { "sealing", "mpiexec_ckpt_sealing" },
};

static void interval_fire(struct pli_timer *t);
static void again_fire(struct pli_timer *t);
static void park_fire(struct pli_timer *t);
static void show_fire(struct pli_timer *t);

static struct {
    enum state state;
    struct pli_job *job;
    struct pli_ckpt_plan plan;
    struct pli_ckpt_rank *ranks; // by pli_job_slot
    uint32_t n_rank;
    struct pli_helper node, seal;
    bool is_node_done;
    int error; // 0: all is well so far
    char why[PLI_CKPT_WHY];
    bool is_again; // a rank was busy: try once more
    bool is_begun; // counted as an attempt
    bool is_asked; // a rank has asked since the last attempt was begun
    uint64_t start_ns, stop_ns, go_ns;
    struct pli_timer interval, again, park, show;
} c = {
    .node = { .watch = { .fd = -1 }, .report = -1 },
    .seal = { .watch = { .fd = -1 }, .report = -1 },
    .interval = { .fire = interval_fire },
    .again = { .fire = again_fire },
    .park = { .fire = park_fire },
    .show = { .fire = show_fire },
};

static bool go(enum state to)
{
    if (!may_go[c.state][to]) {
        return false;
    }
    c.state = to;
    if (c.job->opt.is_verbose) {
        pli_say("checkpoint %u: %s", c.plan.number, words[to].say);
    }
    pli_fault(words[to].point, 0);
    return true;
}

bool pli_ckpt_is_stopping(void)
{
    return c.state == S_PARKING || c.state == S_DUMPING || c.state == S_CALLING;
}

static struct pli_ckpt_rank *rank_of(const struct pli_task *t)
{
    return c.ranks != NULL ? &c.ranks[pli_job_slot(c.job, t)] : NULL;
}

static void arm_interval(void)
{
    if (c.job->opt.ckpt_interval > 0) {
        pli_loop_timer(&c.interval, (uint64_t)(c.job->opt.ckpt_interval * 1e9));
    }
}

// Who asks from now on means the next one.
static void begin_attempt(void)
{
    if (!c.is_begun) {
        c.is_begun = true;
        c.is_asked = false;
        atomic_fetch_add(&pli_node_save(c.job->node.header)->n_begun, 1);
    }
}

static void want(void);

static void finish(void)
{
    struct pli_answer a = { .error = c.error, .first = c.plan.number, .n = c.n_rank };
    snprintf(a.text, sizeof a.text, "%.*s", (int)sizeof a.text - 1, c.why);
    c.again.at = c.park.at = c.show.at = 0;
    begin_attempt();
    c.is_begun = false;
    pli_ckpt_wait_end(c.job, &a);
    arm_interval();
    if (c.is_asked) {
        want();
    }
}

static void fail(int error, const char *why)
{
    if (c.error == 0) {
        c.error = error != 0 ? error : EIO;
        snprintf(c.why, sizeof c.why, "%s", why);
    }
}

static void give_up(void)
{
    pli_say("no checkpoint was made: %s", c.why);
    go(S_IDLE);
    finish();
}

static void stop_ranks(void)
{
    struct pli_node_header *h = c.job->node.header;
    c.n_rank = 0;
    c.is_again = false;
    c.is_node_done = false;
    c.stop_ns = pli_clock_ns();
    go(S_PARKING);
    begin_attempt();
    atomic_store(&h->park, ++c.job->round);
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL; t = pli_job_next(c.job, t)) {
        struct pli_ckpt_rank *r = rank_of(t);
        *r = (struct pli_ckpt_rank){ .dump = { .watch = { .fd = -1 }, .report = -1 },
                                     .task = t,
                                     .rope = -1,
                                     .is_wanted = !t->is_over && !t->is_exited };
        if (r->is_wanted) {
            c.n_rank++;
            kill(t->pid, PLI_PARK_SIGNAL);
        }
    }
    pli_loop_timer(&c.park, (uint64_t)PARK_MS * PLI_MS);
}

static void again_fire(struct pli_timer *t)
{
    if (c.state != S_WAITING) {
        return;
    }
    const char *why = pli_ckpt_obstacle(c.job);
    if (why != NULL) {
        fail(ENOTSUP, why);
        give_up();
    } else if (!pli_ckpt_is_ready(c.job)) {
        pli_loop_timer(t, (uint64_t)AGAIN_MS * PLI_MS);
    } else {
        stop_ranks();
    }
}

static void want(void)
{
    if (c.job != NULL && c.job->opt.is_state) {
        pli_ckpt_state_want();
        return;
    }
    if (c.state == S_IDLE && c.job != NULL && go(S_WAITING)) {
        c.error = 0;
        c.why[0] = '\0';
        c.interval.at = 0;
        c.start_ns = pli_clock_ns();
        pli_ckpt_number(&c.plan);
        pli_loop_timer(&c.again, 0);
    }
}

static void interval_fire(struct pli_timer *t)
{
    (void)t;
    want();
}

bool pli_ckpt_ask(void *token, struct pli_answer *a)
{
    a->error = EPERM;
    if (c.job == NULL) {
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
    c.is_asked = true;
    want();
}

// The ranks are back: what was written becomes a checkpoint, or is thrown away.
static void all_back(struct pli_job *job);

// A CRIU that is killed leaves its own code behind in the process it was reading: let it finish.
static bool is_dumping(void)
{
    bool is = false;
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL; t = pli_job_next(c.job, t)) {
        is = is || rank_of(t)->dump.pid > 0;
    }
    return is;
}

static void call_back(void)
{
    struct pli_node_header *h = c.job->node.header;
    if (is_dumping() || !go(S_CALLING)) {
        return;
    }
    c.park.at = 0;
    atomic_store(&h->park, 0);
    bool is_any = false;
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL; t = pli_job_next(c.job, t)) {
        struct pli_ckpt_rank *r = rank_of(t);
        if (r->is_wanted && r->rope >= 0) {
            is_any = true;
            pli_ckpt_back_call(t, r->rope);
            r->rope = -1;
        }
    }
    pli_helper_kill(&c.node);
    if (!is_any) {
        all_back(c.job);
    }
}

static void park_fire(struct pli_timer *t)
{
    (void)t;
    if (c.state != S_PARKING) {
        return;
    }
    for (struct pli_task *k = pli_job_next(c.job, NULL); k != NULL; k = pli_job_next(c.job, k)) {
        const struct pli_ckpt_rank *r = rank_of(k);
        if (r->is_wanted && !r->is_parked) {
            char text[160];
            snprintf(text, sizeof text,
                     r->rope >= 0 ? "rank %u has children that share its connection to mpiexec"
                                  : "rank %u does not stop: is it stopped, or all signals blocked?",
                     k->rank);
            fail(ETIMEDOUT, text);
        }
    }
    call_back();
}

static void check_dumped(void)
{
    bool is_all = c.is_node_done || c.error != 0;
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL; t = pli_job_next(c.job, t)) {
        const struct pli_ckpt_rank *r = rank_of(t);
        is_all = is_all && (!r->is_wanted || r->is_dumped || c.error != 0);
    }
    if (is_all) {
        call_back();
    }
}

static void node_done(struct pli_helper *h, bool is_good)
{
    c.is_node_done = true;
    if (!is_good) {
        char text[PLI_CKPT_WHY];
        pli_helper_reason(h, text, sizeof text);
        fail(EIO, text);
        call_back();
        return;
    }
    check_dumped();
}

static void start_dumps(void);

static void dump_done(struct pli_helper *h, bool is_good)
{
    struct pli_ckpt_rank *r = (struct pli_ckpt_rank *)h; // its first member
    char log[PATH_MAX + 64], reason[256], text[PLI_CKPT_WHY];
    if (!is_good) {
        snprintf(log, sizeof log, "%s/rank.%u/dump.log", c.plan.temp, r->task->first);
        pli_criu_reason(log, reason, sizeof reason);
        snprintf(text, sizeof text, "rank %u could not be written: %s", r->task->rank, reason);
        fail(EIO, text);
    }
    r->is_dumped = is_good;
    start_dumps();
    check_dumped();
}

// As many at a time as there are processors.
static void start_dumps(void)
{
    long n_free = c.error == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL; t = pli_job_next(c.job, t)) {
        n_free -= rank_of(t)->dump.pid > 0;
    }
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL && n_free > 0;
         t = pli_job_next(c.job, t)) {
        struct pli_ckpt_rank *r = rank_of(t);
        if (!r->is_wanted || r->is_dumped || r->dump.pid > 0) {
            continue;
        }
        if (!pli_criu_dump(r, &c.plan)) {
            fail(errno, "CRIU cannot be started, or its directory not be made");
            call_back();
            return;
        }
        r->dump.done = dump_done;
        pli_helper_watch(&r->dump);
        n_free--;
    }
}

static bool write_node(void *arg, int report)
{
    char path[PATH_MAX + 16];
    (void)arg;
    snprintf(path, sizeof path, "%s/node.img", c.plan.temp);
    return pli_ckpt_node_write(c.job->node_fd, path, report);
}

// All stand still: write them.
static void start_writing(void)
{
    go(S_DUMPING);
    c.park.at = 0;
    pli_ckpt_remove(c.plan.temp);
    if (mkdir(c.plan.temp, 0700) != 0 || !pli_ckpt_describe(&c.plan, c.ranks, 0) ||
        !pli_helper_fork(&c.node, write_node, NULL)) {
        char text[PLI_CKPT_WHY];
        snprintf(text, sizeof text, "%.300s cannot be written: %s", c.plan.temp, strerror(errno));
        fail(errno, text);
        call_back();
        return;
    }
    c.node.done = node_done;
    pli_helper_watch(&c.node);
    pli_loop_timer(&c.show, (uint64_t)SHOW_MS * PLI_MS);
    start_dumps();
}

static void check_parked(void)
{
    bool is_all = true;
    for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL; t = pli_job_next(c.job, t)) {
        const struct pli_ckpt_rank *r = rank_of(t);
        is_all = is_all && (!r->is_wanted || r->is_parked);
    }
    if (is_all && c.state == S_PARKING) {
        start_writing();
    }
}

void pli_ckpt_parked(struct pli_task *t, const struct pli_ctl_msg *msg, int rope)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r == NULL || c.state != S_PARKING || !r->is_wanted) {
        if (rope >= 0) { // it comes too late
            pli_ckpt_back_call(t, rope);
        }
        return;
    }
    if (rope >= 0) {
        r->rope = rope;
        return;
    }
    if (msg->code == EAGAIN) {
        c.is_again = true;
    } else {
        char text[PLI_CKPT_WHY];
        snprintf(text, sizeof text, "rank %u cannot be stopped: %s", t->rank, msg->text);
        fail(msg->code, text);
    }
    call_back();
}

void pli_ckpt_hung_up(struct pli_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r != NULL && c.state == S_PARKING && r->rope >= 0) {
        r->is_parked = true;
        check_parked();
    }
}

void pli_ckpt_gone(struct pli_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r == NULL || !r->is_wanted || !pli_ckpt_is_stopping()) {
        return;
    }
    r->is_wanted = false;
    if (r->rope >= 0) {
        close(r->rope);
        r->rope = -1;
    }
    if (c.state == S_PARKING && t->status == 0) {
        c.n_rank--; // it had ended in good order before the signal came
        check_parked();
        return;
    }
    if (c.state == S_CALLING) { // its image is good all the same
        pli_ckpt_back_gone(t);
        return;
    }
    char text[96];
    snprintf(text, sizeof text, "rank %u died", t->rank);
    fail(ECHILD, text);
    call_back();
}

static void seal_done(struct pli_helper *h, bool is_good)
{
    char text[PLI_CKPT_WHY];
    if (!is_good) {
        pli_helper_reason(h, text, sizeof text);
        fail(EIO, text);
        pli_ckpt_remove(c.plan.temp);
        give_up();
        return;
    }
    go(S_IDLE);
    uint64_t now = pli_clock_ns();
    pli_say("checkpoint %u of %u ranks is in %s: %.2f s, of which the ranks stood still %.2f s",
            c.plan.number, c.n_rank, c.plan.dir, (double)(now - c.start_ns) * 1e-9,
            (double)(c.go_ns - c.stop_ns) * 1e-9);
    finish();
}

static void all_back(struct pli_job *job)
{
    (void)job;
    if (c.state != S_CALLING) {
        return;
    }
    c.go_ns = pli_clock_ns();
    if (c.error == 0 && !c.is_again) {
        go(S_SEALING);
        if (pli_helper_fork(&c.seal, pli_ckpt_seal, &c.plan)) {
            c.seal.done = seal_done;
            pli_helper_watch(&c.seal);
            return;
        }
        fail(errno, "mpiexec cannot start a process");
    }
    pli_ckpt_remove(c.plan.temp);
    if (c.error == 0) {
        go(S_WAITING);
        pli_loop_timer(&c.again, (uint64_t)AGAIN_MS * PLI_MS);
        return;
    }
    give_up();
}

static void show_fire(struct pli_timer *t)
{
    uint32_t n = 0;
    if (c.state == S_SEALING) {
        pli_say("checkpoint %u: the ranks go on; the images are checked and put on the disk",
                c.plan.number);
        return;
    }
    if (c.state != S_DUMPING) {
        return;
    }
    for (struct pli_task *k = pli_job_next(c.job, NULL); k != NULL; k = pli_job_next(c.job, k)) {
        n += rank_of(k)->is_dumped;
    }
    pli_say("checkpoint %u: %u of %u ranks written", c.plan.number, n, c.n_rank);
    pli_loop_timer(t, (uint64_t)SHOW_MS * PLI_MS);
}

bool pli_ckpt_open(struct pli_job *job, char **argv)
{
    char why[PLI_CKPT_WHY];
    if (job->opt.ckpt_dir == NULL) {
        return true;
    }
    if ((mkdir(job->opt.ckpt_dir, 0700) != 0 && errno != EEXIST) ||
        realpath(job->opt.ckpt_dir, c.plan.dir) == NULL ||
        access(c.plan.dir, R_OK | W_OK | X_OK) != 0) {
        pli_say("--checkpoint-dir %s cannot be used: %s", job->opt.ckpt_dir, strerror(errno));
        return false;
    }
    job->opt.ckpt_dir = c.plan.dir;
    pli_again_open(job, c.plan.dir);
    c.job = job;
    c.plan.job = job;
    c.plan.words = argv;
    c.plan.keep = job->opt.ckpt_keep;
    c.plan.owner = getpid();
    if (job->opt.is_state) {
        pli_ckpt_state_open(&c.plan);
        return true;
    }
    if (job->node.header->net != 0) {
        pli_say("checkpoints need shared memory between all ranks: unset PLIANT_NET");
        return false;
    }
    if (!pli_criu_check(why)) {
        pli_say("checkpoints cannot be made: %s", why);
        return false;
    }
    c.ranks = calloc(job->n_first + job->node.header->n_more, sizeof *c.ranks);
    pli_node_save(job->node.header)->how = PLI_NODE_SAVE_IMAGE;
    return c.ranks != NULL && pli_ckpt_back_open(job, all_back);
}

void pli_ckpt_begin(void)
{
    if (c.job != NULL && !c.job->opt.is_state) {
        arm_interval();
    }
}

void pli_ckpt_end(void)
{
    pli_ckpt_hosts_unmark();
    pli_ckpt_state_end();
    if (c.job == NULL || c.state == S_IDLE) {
        return;
    }
    while (c.state == S_SEALING && c.seal.pid > 0) { // complete: it deserves its name
        pli_loop_once(true);
    }
    if (c.state != S_IDLE) {
        fail(ECANCELED, "the job ended");
        for (struct pli_task *t = pli_job_next(c.job, NULL); t != NULL;
             t = pli_job_next(c.job, t)) {
            pli_helper_kill(&rank_of(t)->dump);
        }
        pli_helper_kill(&c.node);
        pli_ckpt_remove(c.plan.temp);
    }
}
