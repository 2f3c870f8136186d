// SPDX-License-Identifier: BSD-3-Clause
// Follows a scheduler. What is to be done is an order as a user would give it with mpictl, so
// mpiexec gives it to itself that way, from a process beside it: it waits while the job is busy,
// and its errors are sentences.
#include "launcher/ranks/preempt.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/job/hostlist.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/members.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 2000, LINE = 4096, REASON = 600 };

static const char *slurm_job(void)
{
    const char *id = getenv("SLURM_JOB_ID");
    return id != NULL && id[0] != '\0' && strspn(id, "0123456789") == strlen(id) ? id : NULL;
}

bool pli_preempt_is_requeued(void)
{
    const char *n = getenv("SLURM_RESTART_COUNT");
    return slurm_job() != NULL && n != NULL && atoi(n) > 0;
}

// mpictl beside this mpiexec.
static const char *mpictl(void)
{
    static char path[PATH_MAX + 16];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash + 1 : path, 16, "mpictl");
    return path;
}

// In a helper: becomes a program whose complaints are the report.
static bool become(const char *const argv[], int report)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(report, STDERR_FILENO);
    execvp(argv[0], (char *const *)argv);
    dprintf(report, "%s cannot be started: %s", argv[0], strerror(errno));
    return false;
}

struct order {
    const char *program, *verb, *hosts;
    uint32_t n;    // 0: none
    bool has_job;  // the number of the job of Slurm follows, else that of mpiexec
    pid_t mpiexec; // its number
};

static bool give(void *arg, int report)
{
    const struct order *o = arg;
    const char *argv[8];
    char n[16], pid[16];
    int k = 0;
    snprintf(n, sizeof n, "%u", o->n);
    snprintf(pid, sizeof pid, "%d", (int)o->mpiexec);
    argv[k++] = o->program;
    argv[k++] = o->verb;
    if (o->n > 0) {
        argv[k++] = n;
    }
    if (o->hosts != NULL) {
        argv[k++] = "--hosts";
        argv[k++] = o->hosts;
    }
    argv[k++] = o->has_job ? slurm_job() : pid;
    argv[k] = NULL;
    return become(argv, report);
}

// Starts a helper; false: it cannot be started, which was said.
static bool start(bool (*fn)(void *arg, int report), void *arg,
                  void (*done)(struct pli_helper *h, bool is_good))
{
    struct pli_preempt_state *self = pli_launcher.preempt;
    if (!pli_helper_fork(&self->order, fn, arg)) {
        pli_say("mpiexec cannot start a process: %s", strerror(errno));
        return false;
    }
    self->order.done = done;
    pli_helper_watch(&self->order);
    return true;
}

static void requeued(struct pli_helper *h, bool is_good)
{
    struct pli_preempt_state *self = pli_launcher.preempt;
    char why[REASON];
    if (is_good) {
        pli_say("Slurm will start job %s once more, from the checkpoint", slurm_job());
        return; // and ends this one
    }
    pli_helper_reason(h, why, sizeof why);
    pli_say("Slurm was asked to start job %s once more, and refused: %s", slurm_job(), why);
    self->end(self->sig);
}

static void saved(struct pli_helper *h, bool is_good)
{
    struct pli_preempt_state *self = pli_launcher.preempt;
    char why[REASON];
    if (!is_good) {
        pli_helper_reason(h, why, sizeof why);
        pli_say("the job is to be preempted, and no checkpoint was made: %s; it goes on until it "
                "is ended",
                why);
        return;
    }
    if (pli_launcher.job->opt.on_preempt == PLI_PREEMPT_REQUEUE && slurm_job() != NULL) {
        struct order o = { .program = "scontrol", .verb = "requeue", .has_job = true };
        self->is_requeued = true;
        if (start(give, &o, requeued)) {
            return;
        }
    }
    pli_say("the job is preempted and ends; mpiexec --restart %s goes on from the checkpoint",
            pli_launcher.job->opt.ckpt_dir);
    self->end(self->sig);
}

static void resized(struct pli_helper *h, bool is_good)
{
    char why[REASON];
    if (!is_good) {
        pli_helper_reason(h, why, sizeof why);
        pli_say("the job could not be resized as the scheduler wants it: %s", why);
    }
    pli_launcher.preempt->sig = 0; // the same signal may come again
}

bool pli_preempt_signal(int sig, void (*end)(int sig))
{
    static const int signals[] = { SIGTERM, SIGUSR1, SIGUSR2 };
    struct pli_preempt_state *self = pli_launcher.preempt;
    const struct pli_options *o = &pli_launcher.job->opt;
    if (o->on_preempt == PLI_PREEMPT_END || o->on_preempt == PLI_PREEMPT_FOLLOW ||
        sig != signals[o->preempt_signal] || self->sig != 0 || self->order.pid != 0) {
        return false;
    }
    self->sig = sig;
    self->end = end;
    struct order c = { .program = mpictl(), .mpiexec = getpid() };
    bool is_resize = o->on_preempt == PLI_PREEMPT_SHRINK || o->on_preempt == PLI_PREEMPT_GROW;
    c.verb = is_resize ? "resize" : "checkpoint";
    c.n = o->on_preempt == PLI_PREEMPT_SHRINK ? o->elastic_min
          : o->on_preempt == PLI_PREEMPT_GROW ? o->elastic_max
                                              : 0;
    if (is_resize && pli_members_size(pli_launcher.job) == c.n) {
        self->sig = 0;
        return o->preempt_signal != 0; // no smaller: SIGTERM ends it
    }
    return start(give, &c, is_resize ? resized : saved);
}

// What Slurm says of the hosts of the job.
struct allocation {
    const struct pli_job *job;
    uint32_t n_slot, n_new;
    char hosts[LINE]; // those that are not of the job yet
};

static bool add_host(const char *name, void *arg)
{
    struct allocation *a = arg;
    uint32_t first = a->job->n_host > 0 ? a->job->hosts[0].slots : a->job->n_rank, slots = first;
    bool is_known = false;
    for (uint32_t i = 0; i < a->job->n_host; i++) {
        if (pli_hosts_is_same(a->job->hosts[i].name, name) && !a->job->hosts[i].is_lost) {
            slots = a->job->hosts[i].slots;
            is_known = true;
        }
    }
    slots = slots > 0 ? slots : 1;
    a->n_slot += slots;
    size_t len = strlen(a->hosts);
    if (!is_known && a->job->n_host > 0 && len + strlen(name) + 16 < sizeof a->hosts) {
        snprintf(a->hosts + len, sizeof a->hosts - len, "%s%s:%u", len > 0 ? "," : "", name, slots);
        a->n_new++;
    }
    return true;
}

// Runs squeue; its line.
static bool ask_slurm(char line[LINE], int report)
{
    char command[128];
    snprintf(command, sizeof command, "squeue --noheader --jobs=%s --format=%%N 2>&1", slurm_job());
    FILE *f = popen(command, "r");
    bool is_good = f != NULL && fgets(line, LINE, f) != NULL;
    int status = f != NULL ? pclose(f) : -1;
    line[is_good ? strcspn(line, "\n") : 0] = '\0';
    if (!is_good || status != 0) {
        dprintf(report, "squeue says nothing of job %s%s%s", slurm_job(), is_good ? ": " : "",
                line);
        return false;
    }
    return true;
}

// In a helper, a copy of mpiexec: compares what Slurm says with what the job has.
static bool follow(void *arg, int report)
{
    struct pli_job *job = arg;
    struct allocation a = { .job = job };
    char line[LINE];
    if (!ask_slurm(line, report)) {
        return false;
    }
    const char *why = line[0] != '\0' ? pli_hostlist_each(line, add_host, &a) : NULL;
    if (why != NULL) {
        dprintf(report, "squeue says that the job has the hosts '%.200s', a list which %s", line,
                why);
        return false;
    }
    uint32_t n = a.n_slot, now = pli_members_living(job);
    n = n < job->opt.elastic_min ? job->opt.elastic_min : n;
    n = n > job->opt.elastic_max ? job->opt.elastic_max : n;
    if (n == now || line[0] == '\0') {
        return true;
    }
    struct order o = { .program = mpictl(), .verb = "resize", .n = n, .mpiexec = getppid() };
    o.hosts = n > now && a.n_new > 0 ? a.hosts : NULL;
    return give(&o, report);
}

static void look_again(void)
{
    pli_loop_timer(&pli_launcher.preempt->look, (uint64_t)LOOK_MS * PLI_MS);
}

static void followed(struct pli_helper *h, bool is_good)
{
    struct pli_preempt_state *self = pli_launcher.preempt;
    char why[REASON];
    if (!is_good && !self->has_warned) {
        pli_helper_reason(h, why, sizeof why);
        pli_say("the job could not follow its allocation: %s; it tries on", why);
    }
    self->has_warned = !is_good;
    look_again();
}

static void look(struct pli_timer *t)
{
    (void)t;
    if (!start(follow, pli_launcher.job, followed)) {
        look_again();
    }
}

void pli_preempt_begin(struct pli_job *job)
{
    struct pli_preempt_state *self = pli_launcher.preempt;
    if (job->opt.on_preempt != PLI_PREEMPT_FOLLOW) {
        return;
    }
    if (slurm_job() == NULL) {
        pli_say("--on-preempt=follow has no effect: this is no job of Slurm (SLURM_JOB_ID)");
        return;
    }
    self->look.fire = look;
    look_again();
}

void pli_preempt_check(const struct pli_job *job)
{
    static const char *const words[] = {
        "end", "shrink", "grow", "checkpoint", "requeue", "follow"
    };
    const struct pli_options *o = &job->opt;
    bool is_save = o->on_preempt == PLI_PREEMPT_CHECKPOINT || o->on_preempt == PLI_PREEMPT_REQUEUE;
    if (is_save && o->ckpt_dir == NULL) {
        pli_say_bad("--on-preempt=%s needs --checkpoint-dir DIR too", words[o->on_preempt]);
    }
    if (!is_save && o->on_preempt != PLI_PREEMPT_END && o->elastic_max == 0) {
        pli_say_bad("--on-preempt=%s needs --elastic MIN:MAX too", words[o->on_preempt]);
    }
}
