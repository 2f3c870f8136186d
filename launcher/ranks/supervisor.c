// SPDX-License-Identifier: BSD-3-Clause
// Watches the tasks and decides when the job ends.
#include "launcher/ranks/supervisor.h"

#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/preempt.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/ranks/control_msgs.h"
#include "launcher/job/job.h"
#include "launcher/ranks/watchdog.h"
#include "launcher/ranks/launch.h"
#include "launcher/base/pidns.h"
#include "launcher/base/say.h"
#include "launcher/base/output.h"
#include "launcher/ranks/failure_text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    BATCH = 16,            // tasks started between two looks at events
    GRACE_FAILED_MS = 50,  // after a failure the job is to be over within 100 ms
    GRACE_ASKED_MS = 2000, // after ^C or a timeout ranks may tidy up
    STUCK_MS = 5000,       // after SIGKILL
    DRAIN_MS = 300,        // for output when the user wants to leave
    LOOK_MS = 50,          // see `early`
    STATUS_TIMEOUT = 124,  // as timeout(1)
};

enum state { S_RUN, S_ENDING, S_KILLING, S_LEFT, N_STATE };
static const bool may_go[N_STATE][N_STATE] = {
    [S_RUN] = { [S_ENDING] = true, [S_KILLING] = true },
    [S_ENDING] = { [S_KILLING] = true, [S_LEFT] = true },
    [S_KILLING] = { [S_LEFT] = true },
};

static void grace_over(struct pli_timer *t);
static void stuck(struct pli_timer *t);
static void timed_out(struct pli_timer *t);
static void look(struct pli_timer *t);
static void drained(struct pli_timer *t);
static void signal_fire(struct pli_watch *w, uint32_t events);

bool pli_supervisor_is_ending(void)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    return self->state != S_RUN;
}

static bool go(enum state to)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (!may_go[self->state][to]) {
        return false;
    }
    self->state = to;
    pli_launcher.ckpt_hooks->cancel();
    return true;
}

static void signal_task(struct pli_proc_task *t, int sig)
{
    if (t->pid > 0 && !t->is_exited) {
        kill(-t->pid, sig); // not reaped yet: the number is still ours
    }
    pli_control_msgs_signal(t, sig);
}

// Send it to the ranks alone: a script that started one does not get it.
static void signal_ranks(struct pli_job *job, int sig)
{
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (t->indirect == NULL && !t->is_exited && t->pid > 0) {
            kill(t->pid, sig);
        }
        pli_control_msgs_signal(t, sig);
    }
}

void pli_supervisor_signal(struct pli_job *job, int sig, const struct pli_proc_task *but,
                           uint16_t flags)
{
    if ((flags & PLI_SIGNAL_RANKS) != 0) {
        signal_ranks(job, sig);
        return;
    }
    if ((flags & PLI_SIGNAL_ENDING) != 0) {
        go(sig == SIGKILL ? S_KILLING : S_ENDING);
    }
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (t != but && !t->is_over) {
            signal_task(t, sig);
        }
    }
}

static void signal_all(int sig, const struct pli_proc_task *but)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    pli_launcher.role->signal(pli_launcher.job, sig, but,
                              self->state == S_RUN ? 0 : PLI_SIGNAL_ENDING);
}

static void kill_job(void)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (go(S_KILLING)) {
        signal_all(SIGKILL, NULL);
        pli_impi_agent_kill();
        pli_loop_timer(&self->stuck, (uint64_t)STUCK_MS * PLI_MS);
    }
}

// Ask all to end, and see to it that they do.
static void end_job(uint32_t grace_ms)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (!go(S_ENDING)) {
        return;
    }
    pli_impi_agent_why("its mpiexec has ended the job");
    uint64_t ns = (uint64_t)grace_ms * PLI_MS;
    if (pli_launcher.job->opt.grace >= 0) {
        ns = (uint64_t)(pli_launcher.job->opt.grace * 1e9);
    }
    signal_all(SIGTERM, self->spare);
    signal_all(SIGCONT, self->spare); // a stopped process cannot take the other one
    pli_loop_timer(&self->grace, ns);
}

void pli_supervisor_lose(const char *why)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (self->state != S_RUN) {
        return;
    }
    pli_say("%s; the job is ended.", why);
    pli_impi_agent_why(why);
    self->has_failed = true;
    self->status = self->status != 0 ? self->status : 1;
    end_job(GRACE_FAILED_MS);
}

static void grace_over(struct pli_timer *t)
{
    (void)t;
    kill_job();
}

static void stuck(struct pli_timer *t)
{
    (void)t;
    if (pli_launcher.job->n_over < pli_launcher.job->n_started && go(S_LEFT)) {
        pli_say("%u processes do not end although they were killed (they may wait for a disk); "
                "mpiexec leaves without them",
                pli_launcher.job->n_started - pli_launcher.job->n_over);
    }
}

static void timed_out(struct pli_timer *t)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    (void)t;
    if (self->state != S_RUN) {
        return;
    }
    const struct pli_options *o = &pli_launcher.job->opt;
    pli_say("the job has not ended after %g s, the %s, and is ended now.", o->timeout,
            o->is_timeout_env ? "MPIEXEC_TIMEOUT of the environment" : "--timeout");
    pli_failure_text_say_states(pli_launcher.job);
    self->has_failed = true;
    self->status = STATUS_TIMEOUT;
    end_job(GRACE_ASKED_MS);
}

static uint32_t state_of(uint32_t row)
{
    return atomic_load_explicit(&pli_launcher.job->node.rows[row].state, memory_order_acquire);
}

static void look(struct pli_timer *t)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    for (uint32_t r = 0; r < pli_launcher.job->n_rank && self->state == S_RUN; r++) {
        if (state_of(r) == PLI_NODE_RUNNING) {
            end_job(GRACE_FAILED_MS);
            return;
        }
    }
    pli_loop_timer(t, (uint64_t)LOOK_MS * PLI_MS);
}

void pli_supervisor_end(int status)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    self->has_failed = true;
    self->status = status;
    end_job(GRACE_FAILED_MS);
}

// Whether the others may depend on the rank that failed.
static bool is_fatal(const struct pli_rank_failure *c)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (c->fault == PLI_FAULT_ABORT) {
        return true;
    }
    if (pli_launcher.job->opt.on_failure == PLI_FAIL_CONTINUE || c->state == PLI_NODE_FINALIZED) {
        return false;
    }
    // Other clients of an IMPI job wait for every rank.
    if (c->state == PLI_NODE_RUNNING || c->fault != PLI_FAULT_CODE ||
        pli_launcher.job->opt.impi_server) {
        return true;
    }
    self->is_early = true;
    return false;
}

static bool is_crash(const struct pli_rank_failure *c)
{
    return c->fault == PLI_FAULT_SIGNAL && c->number != SIGTERM && c->number != SIGKILL;
}

void pli_supervisor_fail(int status, bool may_go_on)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (!self->has_failed) {
        self->status = status;
    }
    self->has_failed = true;
    if (!may_go_on) {
        end_job(GRACE_FAILED_MS);
    }
}

void pli_supervisor_over(struct pli_proc_task *t)
{
    t->is_over = t->is_exited = true;
    pli_launcher.job->n_over++;
    if (pli_launcher.job->opt.is_verbose) {
        pli_say("rank %u on host %s is over, %u of %u are left", pli_task_rank(t),
                pli_launcher.role->host_name(pli_launcher.job, t),
                pli_launcher.job->n_task - pli_launcher.job->n_over, pli_launcher.job->n_task);
    }
}

void pli_supervisor_report(const struct pli_rank_failure *c)
{
    if (c->fault != PLI_FAULT_NONE) {
        pli_launcher.role->report(c);
    }
}

// The jobs of the same world are told which rank has ended it.
static void tell_other_clients(const struct pli_rank_failure *c)
{
    char why[160];
    unsigned rank = pli_launcher.job->base + (c->task != NULL ? pli_task_rank(c->task) : 0);
    if (c->fault == PLI_FAULT_SIGNAL) {
        snprintf(why, sizeof why, "rank %u of the world was killed by %s", rank,
                 pli_failure_text_signal((int)c->number));
    } else {
        snprintf(why, sizeof why,
                 c->fault == PLI_FAULT_ABORT ? "rank %u of the world called MPI_Abort"
                                             : "rank %u of the world ended without MPI_Finalize",
                 rank);
    }
    pli_impi_agent_why(why);
}

void pli_supervisor_judge(const struct pli_rank_failure *c)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (self->state != S_RUN) {
        // Most of what fails now fails because the job ends; a crash is news all the same.
        if (is_crash(c) && self->die_of == 0) {
            pli_failure_text_say_short(pli_launcher.job, c);
        }
        return;
    }
    if (pli_launcher.role->take_failure(pli_launcher.job, c)) {
        return;
    }
    bool end = is_fatal(c);
    bool is_quiet =
        c->fault == PLI_FAULT_ABORT && pli_launcher.job->node.rows[c->row].is_quiet != 0;
    if (!self->has_failed) {
        self->status = pli_failure_text_status(c);
    }
    if (is_quiet) {
        // the part that ended the job has said why, or had no reason to
    } else if (!self->has_failed) {
        pli_failure_text_say(pli_launcher.job, c, end);
    } else {
        pli_failure_text_say_short(pli_launcher.job, c);
    }
    self->has_failed = true;
    pli_launcher.ckpt_hooks->failed(c, end || self->is_early);
    if (end) {
        self->spare = c->fault == PLI_FAULT_ABORT ? c->task : NULL;
        tell_other_clients(c);
        end_job(GRACE_FAILED_MS);
    } else if (c->state == PLI_NODE_RUNNING) {
        pli_launcher.job->node.rows[c->row].abort_code = pli_failure_text_status(c);
        pli_node_set_state(&pli_launcher.job->node, c->row, PLI_NODE_ABORTED);
    } else if (self->is_early && self->look.at == 0) {
        look(&self->look);
    }
}

// The task's own process is over; which row, if any, was it?
static void judge_task(struct pli_proc_task *t)
{
    if (t->is_dropped) {
        return;
    }
    struct pli_rank_failure c = { .task = t, .row = t->first, .pid = t->pid, .why = "" };
    c.state = t->n == 1 && t->indirect == NULL ? state_of(t->first) : PLI_NODE_EMPTY;
    for (uint32_t r = t->first; r < t->first + t->n; r++) {
        if (pli_launcher.job->node.rows[r].pid == (uint32_t)t->pid) {
            c.row = r;
            c.state = state_of(r);
        }
    }
    if (c.state == PLI_NODE_ABORTED) {
        // Its message was not read, or not sent.
        c.fault = PLI_FAULT_ABORT;
        c.number = pli_launcher.job->node.rows[c.row].abort_code;
    } else {
        c.fault = pli_failure_text_fault(t->status, c.state, &c.number);
        c.fault = pli_failure_text_missed(pli_launcher.job, t, c.fault);
    }
    pli_supervisor_report(&c);
}

void pli_supervisor_check(struct pli_proc_task *t)
{
    if (t->is_over || !t->is_exited) {
        return;
    }
    for (struct pli_indirect_rank *g = t->indirect; g != NULL; g = g->next) {
        if (!g->is_over) {
            return; // a rank that outlives the script that started it
        }
    }
    t->is_over = true;
    pli_launcher.job->n_over++;
    for (uint32_t r = t->first; r < t->first + t->n; r++) { // processes that wait for it are woken
        pli_node_set_ended(&pli_launcher.job->node, pli_launcher.job->node.rows[r].index);
        pli_listener_shut(r);
    }
    for (uint32_t r = t->extra; r < t->extra + t->n_extra; r++) {
        pli_node_set_ended(&pli_launcher.job->node, pli_launcher.job->node.rows[r].index);
        pli_listener_shut(r);
    }
    pli_launcher.role->task_gone(t);
    pli_launcher.ckpt_hooks->gone(t);
    judge_task(t);
    pli_loop_close(&t->control);
    pli_launcher.role->task_over(t);
}

static void task_fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    struct pli_proc_task *t = (struct pli_proc_task *)watch; // its first member
    pli_control_msgs_listen(t);                              // what it said comes before its end
    pli_watchdog_note(pli_job_slot(pli_launcher.job, t), 0);
    if (!pli_launch_collect(t)) {
        return;
    }
    t->is_exited = true;
    pli_loop_close(&t->watch);
    pli_supervisor_check(t);
}

void pli_supervisor_follow(struct pli_proc_task *t)
{
    pli_watchdog_note(pli_job_slot(pli_launcher.job, t), t->pid);
    pli_launcher.job->n_started++;
    t->watch.fire = task_fire;
    pli_loop_watch(&t->watch, EPOLLIN);
}

// Start one task and look after it. False: why has the reason; it was said when that is NULL.
static bool start(struct pli_proc_task *t, char *why)
{
    t->job = pli_launcher.job;
    if (!pli_launch_start(pli_launcher.job, t, why)) {
        return false;
    }
    pli_supervisor_follow(t);
    pli_control_msgs_begin(t);
    return true;
}

static void append(struct pli_proc_task *t)
{
    pli_launcher.job->n_task++;
    t->next = pli_launcher.job->spawned;
    pli_launcher.job->spawned = t;
}

void pli_supervisor_adopt(struct pli_proc_task *t)
{
    pli_supervisor_follow(t);
    pli_control_msgs_begin(t);
    append(t);
}

bool pli_supervisor_add(struct pli_proc_task *t, char *why)
{
    if (!start(t, why)) {
        return false;
    }
    append(t);
    return true;
}

void pli_supervisor_drop(struct pli_proc_task *t)
{
    t->is_dropped = true;
    signal_task(t, SIGKILL);
}

void pli_supervisor_end_process(struct pli_job *job, uint32_t row)
{
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (t->is_over || !pli_task_has(t, row)) {
            continue;
        }
        if (t->n > 1) {
            pli_control_msgs_kill(t, row);
        } else {
            pli_supervisor_drop(t);
        }
    }
}

// The messages of this task come from a log: it is not started, and counts as over.
static void skip(struct pli_proc_task *t)
{
    t->job = pli_launcher.job;
    t->is_exited = t->is_over = true;
    t->job->n_started++;
    t->job->n_over++;
}

bool pli_supervisor_step(struct pli_job *job)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (!pli_impi_agent_is_up(job)) {
        return false;
    }
    for (int i = 0; i < BATCH && job->n_begun < job->n_first && self->state == S_RUN; i++) {
        struct pli_proc_task *t = &job->tasks[job->n_begun];
        if (pli_job_is_proxy(job, t)) {
            skip(t);
        } else if (!start(t, NULL)) {
            pli_launcher.role->cannot_go_on(1);
            pli_supervisor_fail(1, false);
            return false;
        }
        job->n_begun++;
        if (job->n_begun == job->n_first) {
            pli_stdin_begin();
            pli_launcher.ckpt_hooks->begin();
            pli_launcher.role->all_started(job);
        }
    }
    return job->n_begun < job->n_first && self->state == S_RUN;
}

void pli_supervisor_kill(void)
{
    kill_job();
}

static void ask(int sig)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (self->state != S_RUN || pli_launcher.job->n_over == pli_launcher.job->n_task) {
        self->die_of = self->die_of != 0 ? self->die_of : sig;
        kill_job();
        self->is_drained = true; // do not wait for readers either
        return;
    }
    self->die_of = sig;
    if (pli_launcher.output->err->is_tty && sig == SIGINT) {
        pli_say("ending the job; ^C once more kills it at once");
    }
    end_job(GRACE_ASKED_MS);
}

static void signal_fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    struct signalfd_siginfo info;
    while (read(watch->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int sig = (int)info.ssi_signo;
        if (pli_launcher.supervisor->state == S_RUN && pli_preempt_signal(sig, ask)) {
            continue;
        }
        switch (sig) {
        case SIGUSR1:
        case SIGUSR2:
            pli_launcher.role->signal(pli_launcher.job, sig, NULL, PLI_SIGNAL_RANKS);
            break;
        case SIGTSTP:
            // SIGTSTP does nothing in a session without a shell.
            signal_all(getsid(0) == 0 || pli_pidns_is_open() ? SIGSTOP : SIGTSTP, NULL);
            raise(SIGSTOP);
            break;
        case SIGCONT:
            signal_all(SIGCONT, NULL);
            pli_stdin_begin();
            break;
        case SIGCHLD:
            pli_failure_text_stopped();
            break;
        default:
            ask(sig);
            break;
        }
    }
}

void pli_supervisor_begin(struct pli_job *job, int signal_fd)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    self->signals = (struct pli_watch){ .fd = signal_fd, .fire = signal_fire };
    self->grace.fire = grace_over;
    self->stuck.fire = stuck;
    self->timeout.fire = timed_out;
    self->look.fire = look;
    self->drain.fire = drained;
    pli_loop_watch(&self->signals, EPOLLIN);
    pli_preempt_begin(job);
    if (job->opt.timeout > 0) {
        pli_loop_timer(&self->timeout, (uint64_t)(job->opt.timeout * 1e9));
    }
}

// The reader of our output is gone: end as any program that writes to a closed pipe.
static void check_reader(void)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    if (pli_launcher.output->out.is_gone && pli_launcher.output->out.error == EPIPE &&
        self->state == S_RUN) {
        self->die_of = SIGPIPE;
        end_job(GRACE_FAILED_MS);
    }
}

static void drained(struct pli_timer *t)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    (void)t;
    self->is_drained = true;
}

bool pli_supervisor_is_done(const struct pli_job *job)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    check_reader();
    uint32_t n = self->state == S_RUN ? job->n_task : job->n_started;
    bool is_ending =
        self->state != S_RUN || self->is_early; // others may wait for ranks that never came
    if ((job->n_over < n && self->state != S_LEFT) ||
        (!is_ending && !pli_impi_agent_is_over(pli_launcher.job))) {
        return false;
    }
    if (is_ending) {
        pli_impi_agent_kill();
    }
    if ((self->die_of != 0 || self->state == S_LEFT) && self->drain.at == 0 && !self->is_drained) {
        pli_loop_timer(&self->drain, (uint64_t)DRAIN_MS * PLI_MS);
    }
    return self->is_drained || (pli_output_lines_n_open() == 0 && pli_output_is_empty());
}

int pli_supervisor_finish(struct pli_job *job, int status)
{
    struct pli_supervisor_state *self = pli_launcher.supervisor;
    pli_output_progress("%s", "");
    pli_impi_agent_end();
    pli_launcher.ckpt_hooks->end();
    self->status = self->status != 0 ? self->status : status;
    pli_launcher.role->clean_up(job, self->state != S_RUN);
    pli_watchdog_stop();
    if (self->die_of != 0) {
        pli_launch_die(self->die_of);
    }
    if (pli_launcher.output_lines->file_error != 0) {
        pli_say("a file for the output of the ranks could not be written: %s",
                strerror(pli_launcher.output_lines->file_error));
        pli_output_flush();
        self->status = self->status != 0 ? self->status : 1;
    }
    if (pli_launcher.output->out.error != 0) {
        pli_say("standard output could not be written: %s",
                strerror(pli_launcher.output->out.error));
        pli_output_flush();
        return self->status != 0 ? self->status : 1;
    }
    pli_launcher.ckpt_hooks->restart(job, self->state != S_RUN && self->state != S_LEFT);
    return self->status;
}
