// SPDX-License-Identifier: BSD-3-Clause
// Finds and reports deadlocks: ranks that all sleep, and go on sleeping.
#include "launcher/ranks/deadlock.h"

#include "launcher/base/launcher.h"
#include "base/clock.h"
#include "base/conf.h"
#include "boot/jobtab.h"
#include "launcher/job/role.h"
#include "launcher/job/job.h"
#include "launcher/base/loop.h"
#include "net/shm/shm.h"
#include "tools/lib/job_status.h"
#include "launcher/base/say.h"
#include "launcher/ranks/supervisor.h"

#include <dirent.h>
#include <stdio.h>

enum {
    STATUS_DEADLOCK = 123,
    WATCH_MS = 400, // between two looks
    ASKED_MS = 200, // while ranks are asked
    POLL_MS = 1000, // where some poll: there is time
    TOLD_MS = 2000, // when it was reported and left
};

static void look(struct pli_timer *t);

// Whether a thread of the process has a child. Where /proc does not tell, it may have.
static bool has_child(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    bool may_have = d == NULL;
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL && !may_have; e = readdir(d)) {
        char file[64 + sizeof e->d_name + 16];
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(file, sizeof file, "%s/%s/children", path, e->d_name);
        FILE *f = fopen(file, "re");
        may_have = f == NULL || fgetc(f) != EOF;
        if (f != NULL) {
            fclose(f);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return may_have;
}

// Whether no process is left that could become this rank of the task (--ranks-per-proc): the task's
// process is a rank itself, and has started no other.
static bool cannot_begin(const struct pli_job *job, const struct pli_proc_task *t, uint32_t row)
{
    const struct pli_node_row *rows = job->node.rows;
    if (t->n < 2 || atomic_load(&rows[row].state) != PLI_NODE_EMPTY) {
        return false;
    }
    for (uint32_t r = t->first; r < t->first + t->n; r++) {
        if (atomic_load(&rows[r].state) == PLI_NODE_RUNNING &&
            atomic_load(&rows[r].pid) == (uint32_t)t->pid) {
            return !has_child(t->pid);
        }
    }
    return false;
}

bool pli_deadlock_is_row_over(void *arg, uint32_t row)
{
    const struct pli_job *job = arg;
    for (uint32_t i = 0; i < job->n_begun && row < job->node.header->n_row; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (pli_task_has(t, row)) {
            return t->is_over || cannot_begin(job, t, row);
        }
    }
    const struct pli_node_header *h = job->node.header;
    return row >= h->n_row && (job->node.rows[row].has_ended != 0 ||
                               !pli_launcher.role->watches_host(
                                   job, job->node.procs[h->n_world + row - h->n_row].host));
}

void pli_deadlock_ask(struct pli_job *job, bool is_again)
{
    if (!is_again) {
        atomic_fetch_add(&job->node.header->question, 1);
    }
    pli_shm_wake_node(&job->node);
}

enum pli_role_stuck pli_deadlock_is_stuck(struct pli_job *job, struct pli_job_status_stuck *out)
{
    struct pli_deadlock_state *self = pli_launcher.deadlock;
    if (!pli_job_status_is_stuck(&job->node, pli_deadlock_is_row_over, job, out)) {
        self->is_asked = false;
        return PLI_ROLE_STUCK_NOT;
    }
    bool is_sure = self->is_asked && out->is_confirmed;
    pli_deadlock_ask(job, self->is_asked && !is_sure);
    self->is_asked = true;
    return is_sure ? PLI_ROLE_STUCK_SURE : PLI_ROLE_STUCK_ASKED;
}

// An ordinary program that was started with --ranks-per-proc, or jobs whose ranks come no more.
static void explain_missing(const struct pli_job *job)
{
    if (pli_jobtab_has_met(&job->node)) {
        pli_say_plain("  clue: this job was connected to another one, which has ended\n");
    }
    for (uint32_t i = 0; i < job->n_begun; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        for (uint32_t r = t->first; r < t->first + t->n && !t->is_over; r++) {
            if (cannot_begin(job, t, r)) {
                pli_say_plain("  clue: with --ranks-per-proc=%u each process must start the others "
                              "of its %u ranks itself, and %s does not; run it without "
                              "--ranks-per-proc\n",
                              t->n, t->n, t->app->argv[0]);
                return;
            }
        }
    }
}

static void deadlock(void)
{
    struct pli_deadlock_state *self = pli_launcher.deadlock;
    if (pli_supervisor_is_ending()) {
        return;
    }
    self->is_told = true;
    pli_say_plain("%s: deadlock: every rank that is left waits inside MPI, and nothing is on its "
                  "way to any.\n",
                  pli_say_name);
    pli_job_status_print(&pli_launcher.job->node, pli_deadlock_is_row_over, pli_launcher.job,
                         pli_say_plain);
    explain_missing(pli_launcher.job);
    if (pli_launcher.job->opt.on_deadlock == PLI_DEADLOCK_ABORT) {
        pli_say("the job is ended with exit status %d; --on-deadlock=report leaves it for a "
                "debugger to look at.",
                STATUS_DEADLOCK);
        pli_supervisor_end(STATUS_DEADLOCK);
    }
}

// Some ranks poll: they may give up after a time, or wait for something outside MPI as well.
static void poll_deadlock(void)
{
    struct pli_deadlock_state *self = pli_launcher.deadlock;
    bool is_abort = pli_launcher.job->opt.on_poll_deadlock == PLI_POLL_DEADLOCK_ABORT;
    if (pli_supervisor_is_ending()) {
        return;
    }
    self->is_poll_told = true;
    pli_say_plain("%s: %s: for %d seconds every rank that is left waits or polls inside MPI, and "
                  "nothing is on its way to any.\n",
                  pli_say_name, is_abort ? "deadlock" : "warning: this looks like a deadlock",
                  (int)pli_conf.poll_deadlock);
    pli_job_status_print(&pli_launcher.job->node, pli_deadlock_is_row_over, pli_launcher.job,
                         pli_say_plain);
    explain_missing(pli_launcher.job);
    if (is_abort) {
        pli_say("the job is ended with exit status %d, as --on-poll-deadlock=abort asks.",
                STATUS_DEADLOCK);
        pli_supervisor_end(STATUS_DEADLOCK);
    } else {
        pli_say(
            "the job goes on, in case a rank gives up polling or waits for something outside MPI; "
            "--on-poll-deadlock=abort ends such a job, ignore says nothing.");
    }
}

// All answered twice with the same mark. Returns whether that was told.
static bool tell(const struct pli_job_status_stuck *s, uint64_t now)
{
    struct pli_deadlock_state *self = pli_launcher.deadlock;
    if (s->n_poll == 0) {
        return pli_launcher.role->show_ranks(PLI_LOOK_PLACES, deadlock);
    }
    uint64_t limit = (uint64_t)pli_conf.poll_deadlock * 1000 * PLI_MS;
    return !self->is_poll_told && now - self->since_ns >= limit &&
           pli_launcher.job->opt.on_poll_deadlock != PLI_POLL_DEADLOCK_IGNORE &&
           pli_launcher.role->show_ranks(PLI_LOOK_PLACES, poll_deadlock);
}

// All ranks answered two questions, and none found anything in between: they will wait for ever.
// What a rank had sent before its first answer had arrived by then, so its receiver, which looked
// after the second question, would have found it.
static void look(struct pli_timer *t)
{
    struct pli_deadlock_state *self = pli_launcher.deadlock;
    struct pli_job_status_stuck s = { 0 };
    enum pli_role_stuck answer = PLI_ROLE_STUCK_NOT;
    if (!pli_supervisor_is_ending() && pli_launcher.job->n_begun == pli_launcher.job->n_first) {
        answer = pli_launcher.role->is_stuck(pli_launcher.job, &s);
    }
    if (answer != PLI_ROLE_STUCK_ASKED) {
        uint64_t now = pli_clock_ns();
        bool is_same = answer == PLI_ROLE_STUCK_SURE && self->is_sure && s.mark == self->mark;
        self->since_ns = is_same ? self->since_ns : now;
        // False: mpictl status looks just now, and it is tried again at the next turn.
        self->is_told = self->is_told || (is_same && tell(&s, now));
        self->is_told = self->is_told && is_same;
        self->is_sure = answer == PLI_ROLE_STUCK_SURE;
        self->mark = s.mark;
    }
    if (!pli_supervisor_is_ending()) {
        uint64_t ms = self->is_told                  ? TOLD_MS
                      : answer == PLI_ROLE_STUCK_NOT ? WATCH_MS
                      : s.n_poll > 0                 ? POLL_MS
                                                     : ASKED_MS;
        pli_loop_timer(t, ms * PLI_MS);
    }
}

void pli_deadlock_begin(struct pli_job *job)
{
    struct pli_deadlock_state *self = pli_launcher.deadlock;
    self->timer.fire = look;
    // A rank that waits for one of another MPI job looks like one that waits for ever.
    if (job->opt.on_deadlock != PLI_DEADLOCK_IGNORE && job->opt.impi_server == NULL) {
        pli_loop_timer(&self->timer, (uint64_t)WATCH_MS * PLI_MS);
    }
}
