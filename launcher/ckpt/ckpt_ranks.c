// SPDX-License-Identifier: BSD-3-Clause
// The ranks of this host in a checkpoint: they stop, empty their connections where they have any,
// leave, are written, and are called back.
#include "base/clock.h"
#include "boot/ctl_wire.h"
#include "ckpt/freeze_wire.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/ranks/listener.h"
#include "launcher/ckpt/migrate_daemon.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PARK_MS = 20000, // for all ranks to stand still
    SHOW_MS = 2000   // between two words about progress
};

static void check_parked(void);
static void start_dumps(void);
static void park_fire(struct pli_timer *t);
static void show_fire(struct pli_timer *t);

static struct pli_ckpt_rank *rank_of(const struct pli_proc_task *t)
{
    return pli_ckpt.ranks != NULL ? &pli_ckpt.ranks[pli_job_slot(pli_ckpt.job, t)] : NULL;
}

void pli_ckpt_ranks_stop(void)
{
    struct pli_node_header *h = pli_ckpt.job->node.header;
    pli_ckpt.n_rank = 0;
    pli_ckpt.is_again = false;
    pli_ckpt.is_node_done = false;
    pli_ckpt.is_leaving = false;
    pli_ckpt.stop_ns = pli_clock_ns();
    pli_ckpt_go(PLI_CKPT_PARKING);
    pli_ckpt_count();
    atomic_store(&h->freeze, ++pli_ckpt.job->round);
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL;
         t = pli_job_next(pli_ckpt.job, t)) {
        struct pli_ckpt_rank *r = rank_of(t);
        *r = (struct pli_ckpt_rank){ .dump = { .watch = { .fd = -1 }, .report = -1 },
                                     .task = t,
                                     .rope = -1,
                                     .is_wanted = !t->is_over && !t->is_exited };
        if (r->is_wanted) {
            pli_ckpt.n_rank++;
            kill(t->pid, PLI_FREEZE_SIGNAL);
        }
    }
    pli_loop_timer(&pli_ckpt.park, (uint64_t)PARK_MS * PLI_MS);
    if (pli_ckpt.n_rank == 0) { // of a daemon whose ranks are over
        check_parked();
    }
}

// A CRIU that is killed leaves its own code behind in the process it was reading: let it finish.
static bool is_dumping(void)
{
    bool is = false;
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL;
         t = pli_job_next(pli_ckpt.job, t)) {
        is = is || rank_of(t)->dump.pid > 0;
    }
    return is;
}

void pli_ckpt_ranks_call_back(void)
{
    struct pli_node_header *h = pli_ckpt.job->node.header;
    enum pli_ckpt_state before = pli_ckpt.state;
    if (pli_ckpt.job->is_daemon && !pli_ckpt.may_call && !is_dumping()) {
        if (before != PLI_CKPT_PARKING && pli_ckpt.is_move && !pli_migrate_daemon_is_sent()) {
            return; // it will be looked at again
        }
        pli_ckpt_daemon_report(before == PLI_CKPT_PARKING ? PLI_PART_STOPPED : PLI_PART_WRITTEN);
        return; // mpiexec decides
    }
    if (is_dumping() || !pli_ckpt_go(PLI_CKPT_CALLING)) {
        return;
    }
    pli_ckpt.park.at = 0;
    atomic_store(&h->freeze, 0);
    if (pli_ckpt.has_net && before == PLI_CKPT_PARKING) {
        pli_ckpt_net_say(pli_ckpt.ranks, pli_ckpt.job, PLI_FREEZE_STAY);
    }
    bool is_any = false;
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL;
         t = pli_job_next(pli_ckpt.job, t)) {
        struct pli_ckpt_rank *r = rank_of(t);
        if (r->is_wanted && r->rope >= 0) {
            is_any = true;
            pli_ckpt_resume_call(t, r->rope);
            r->rope = -1;
        }
    }
    pli_helper_kill(&pli_ckpt.node);
    if (!is_any) {
        pli_ckpt_all_back(pli_ckpt.job);
    }
}

static void park_fire(struct pli_timer *t)
{
    (void)t;
    if (pli_ckpt.state != PLI_CKPT_PARKING) {
        return;
    }
    for (struct pli_proc_task *k = pli_job_next(pli_ckpt.job, NULL); k != NULL;
         k = pli_job_next(pli_ckpt.job, k)) {
        const struct pli_ckpt_rank *r = rank_of(k);
        if (r->is_wanted && !r->is_parked) {
            pli_ckpt_fail(ETIMEDOUT,
                          r->rope >= 0
                              ? "rank %u has children that share its connection to mpiexec"
                              : "rank %u does not stop: is it stopped, or all signals blocked?",
                          k->rank);
        }
    }
    pli_ckpt_ranks_call_back();
}

static void check_dumped(void)
{
    bool is_all = pli_ckpt.is_node_done || pli_ckpt.error != 0;
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL;
         t = pli_job_next(pli_ckpt.job, t)) {
        const struct pli_ckpt_rank *r = rank_of(t);
        is_all = is_all && (!r->is_wanted || r->is_dumped || pli_ckpt.error != 0);
    }
    if (is_all) {
        pli_ckpt_ranks_call_back();
    }
}

static void node_done(struct pli_helper *h, bool is_good)
{
    pli_ckpt.is_node_done = true;
    if (!is_good) {
        char text[PLI_CKPT_WHY];
        pli_helper_reason(h, text, sizeof text);
        pli_ckpt_fail(EIO, "%s", text);
        pli_ckpt_ranks_call_back();
        return;
    }
    check_dumped();
}

static void dump_done(struct pli_helper *h, bool is_good)
{
    struct pli_ckpt_rank *r = (struct pli_ckpt_rank *)h; // its first member
    char dir[PATH_MAX + 32], log[PATH_MAX + 64], why[PLI_CKPT_WHY], socket[160] = "";
    snprintf(dir, sizeof dir, "%s/rank.%u", pli_ckpt.plan.temp, r->task->first);
    if (!is_good) {
        snprintf(log, sizeof log, "%s/dump.log", dir);
        pli_criu_reason(log, h->killed_by, why, 256);
        bool has_socket =
            h->killed_by == 0 && pli_ckpt_sockets_find(r->task->pid, true, socket, sizeof socket);
        pli_ckpt_fail(EIO, "rank %u could not be written: %s%s%s", r->task->rank, why,
                      has_socket ? "; its " : "", socket);
    } else if (!pli_ckpt_verify(dir, why)) {
        pli_ckpt_fail(EIO, "rank %u could not be restored from what was written: %s", r->task->rank,
                      why);
        is_good = false;
    }
    r->is_dumped = is_good;
    start_dumps();
    check_dumped();
}

// As many at a time as there are processors.
static void start_dumps(void)
{
    long n_free = pli_ckpt.error == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL;
         t = pli_job_next(pli_ckpt.job, t)) {
        n_free -= rank_of(t)->dump.pid > 0;
    }
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL && n_free > 0;
         t = pli_job_next(pli_ckpt.job, t)) {
        struct pli_ckpt_rank *r = rank_of(t);
        if (!r->is_wanted || r->is_dumped || r->dump.pid > 0) {
            continue;
        }
        if (!pli_criu_dump(r, &pli_ckpt.plan)) {
            pli_ckpt_fail(errno, "CRIU cannot be started, or its directory not be made");
            pli_ckpt_ranks_call_back();
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
    snprintf(path, sizeof path, "%s/node.img", pli_ckpt.plan.temp);
    return pli_ckpt_node_write(pli_ckpt.job->node_fd, path, report);
}

// What is to be said of the ranks, while their ropes are there.
static bool describe(void)
{
    struct pli_ckpt_what what = { 0 };
    what.tasks = pli_ckpt_list(pli_ckpt.job, pli_ckpt.ranks, &what.n);
    if (what.tasks != NULL && pli_ckpt.job->is_daemon) {
        pli_ckpt_daemon_note(what.tasks, what.n);
        return true;
    }
    bool is_good = what.tasks != NULL && pli_ckpt_describe(&pli_ckpt.plan, &what);
    free(what.tasks);
    return is_good;
}

// Connections of the program itself: their other ends do not stand still, and know nothing of a
// restart.
static bool are_alone(void)
{
    char socket[160];
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL;
         t = pli_job_next(pli_ckpt.job, t)) {
        if (rank_of(t)->is_wanted && pli_ckpt_sockets_find(t->pid, false, socket, sizeof socket)) {
            pli_ckpt_fail(ENOTSUP,
                          "rank %u cannot be written: its %s, whose other end would know nothing "
                          "of a restart; let the program close it before a checkpoint",
                          t->rank, socket);
            return false;
        }
    }
    return true;
}

// All stand still: write them.
static void start_writing(void)
{
    if (pli_ckpt.error != 0) { // one died while they emptied their connections
        pli_ckpt_ranks_call_back();
        return;
    }
    pli_ckpt_go(PLI_CKPT_DUMPING);
    pli_ckpt.park.at = 0;
    if (pli_ckpt.plan.temp[0] == '\0') { // others are moved: mine only wait
        pli_ckpt_ranks_call_back();
        return;
    }
    const struct pli_proc_task *busy =
        pli_ckpt.is_move ? pli_migrate_daemon_parent(pli_ckpt.job) : NULL;
    if (busy != NULL) {
        pli_ckpt_fail(ENOTSUP, "rank %u has started processes of its own", busy->rank);
        pli_ckpt_ranks_call_back();
        return;
    }
    if (!are_alone()) {
        pli_ckpt_ranks_call_back();
        return;
    }
    pli_ckpt_remove(pli_ckpt.plan.temp);
    if (mkdir(pli_ckpt.plan.temp, 0700) != 0 || !describe() ||
        !pli_helper_fork(&pli_ckpt.node, write_node, NULL)) {
        pli_ckpt_fail(errno, "%.300s cannot be written: %s", pli_ckpt.plan.temp, strerror(errno));
        pli_ckpt_ranks_call_back();
        return;
    }
    pli_ckpt.node.done = node_done;
    pli_helper_watch(&pli_ckpt.node);
    pli_loop_timer(&pli_ckpt.show, (uint64_t)SHOW_MS * PLI_MS);
    start_dumps();
}

static void check_parked(void)
{
    bool is_part = pli_ckpt.job->is_daemon;
    if (pli_ckpt.has_net && pli_ckpt.state == PLI_CKPT_PARKING) {
        if (pli_ckpt_net_are(pli_ckpt.ranks, pli_ckpt.job, PLI_CKPT_STOPPED)) {
            pli_ckpt.park.at = 0;
            is_part ? pli_ckpt_daemon_report(PLI_PART_STOPPED) : pli_ckpt_ranks_drain();
        }
        return;
    }
    if (pli_ckpt.state == PLI_CKPT_DRAINING && !pli_ckpt.is_leaving &&
        pli_ckpt_net_are(pli_ckpt.ranks, pli_ckpt.job, PLI_CKPT_DRAINED)) {
        is_part ? pli_ckpt_daemon_report(PLI_PART_DRAINED) : pli_ckpt_ranks_leave();
        return;
    }
    bool is_out = pli_ckpt.has_net ? pli_ckpt.is_leaving : pli_ckpt.state == PLI_CKPT_PARKING;
    if (is_out && (pli_ckpt.state == PLI_CKPT_PARKING || pli_ckpt.state == PLI_CKPT_DRAINING) &&
        pli_ckpt_net_are(pli_ckpt.ranks, pli_ckpt.job, PLI_CKPT_LEFT)) {
        start_writing();
    }
}

void pli_ckpt_ranks_drain(void)
{
    if (pli_ckpt_go(PLI_CKPT_DRAINING)) {
        pli_ckpt_net_say(pli_ckpt.ranks, pli_ckpt.job, PLI_FREEZE_DRAIN);
        check_parked();
    }
}

void pli_ckpt_ranks_leave(void)
{
    pli_ckpt.is_leaving = true;
    pli_ckpt_net_say(pli_ckpt.ranks, pli_ckpt.job, PLI_FREEZE_LEAVE);
    check_parked();
}

void pli_ckpt_drained(struct pli_proc_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r != NULL && pli_ckpt.state == PLI_CKPT_DRAINING) {
        r->is_drained = true;
        check_parked();
    }
}

void pli_ckpt_parked(struct pli_proc_task *t, const struct pli_ctl_msg *msg, int rope)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r == NULL || pli_ckpt.state != PLI_CKPT_PARKING || !r->is_wanted) {
        if (rope >= 0 && pli_ckpt.has_net) { // it comes too late
            const struct pli_freeze_word w = { .what = PLI_FREEZE_STAY };
            ssize_t n = write(rope, &w, sizeof w);
            (void)n;
            close(rope);
        } else if (rope >= 0) {
            pli_ckpt_resume_call(t, rope);
        }
        return;
    }
    if (rope >= 0) {
        r->rope = rope;
        if (pli_ckpt.has_net) {
            check_parked();
        }
        return;
    }
    if (msg->code == EAGAIN) {
        pli_ckpt.is_again = true;
    } else {
        pli_ckpt_fail(msg->code, "rank %u cannot be stopped: %s", t->rank, msg->text);
    }
    pli_ckpt_ranks_call_back();
}

void pli_ckpt_hung_up(struct pli_proc_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r != NULL && (pli_ckpt.state == PLI_CKPT_PARKING || pli_ckpt.state == PLI_CKPT_DRAINING) &&
        r->rope >= 0) {
        r->is_parked = true;
        pli_listener_part(t->first);
        check_parked();
    }
}

void pli_ckpt_gone(struct pli_proc_task *t)
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
    if (pli_ckpt.state == PLI_CKPT_PARKING && t->status == 0) {
        pli_ckpt.n_rank--; // it had ended in good order before the signal came
        check_parked();
        return;
    }
    if (pli_ckpt.state == PLI_CKPT_CALLING) { // its image is good all the same
        pli_ckpt_resume_gone(t);
        return;
    }
    pli_ckpt_fail(ECHILD, "rank %u died", t->rank);
    if (pli_ckpt.state == PLI_CKPT_DRAINING) { // the others cannot stay as they are any more
        check_parked();
        return;
    }
    pli_ckpt_ranks_call_back();
}

static void show_fire(struct pli_timer *t)
{
    uint32_t n = 0;
    if (pli_ckpt.state == PLI_CKPT_SEALING) {
        pli_say("checkpoint %u: the ranks go on; the images are checked and put on the disk",
                pli_ckpt.plan.number);
        return;
    }
    if (pli_ckpt.state != PLI_CKPT_DUMPING) {
        return;
    }
    for (struct pli_proc_task *k = pli_job_next(pli_ckpt.job, NULL); k != NULL;
         k = pli_job_next(pli_ckpt.job, k)) {
        n += rank_of(k)->is_dumped;
    }
    pli_say("checkpoint %u: %u of %u ranks written", pli_ckpt.plan.number, n, pli_ckpt.n_rank);
    pli_loop_timer(t, (uint64_t)SHOW_MS * PLI_MS);
}

void pli_ckpt_ranks_open(void)
{
    pli_ckpt.park.fire = park_fire;
    pli_ckpt.show.fire = show_fire;
}

void pli_ckpt_ranks_drop(void)
{
    for (struct pli_proc_task *t = pli_job_next(pli_ckpt.job, NULL);
         t != NULL && pli_ckpt.ranks != NULL; t = pli_job_next(pli_ckpt.job, t)) {
        pli_helper_kill(&rank_of(t)->dump);
    }
    pli_helper_kill(&pli_ckpt.node);
}
