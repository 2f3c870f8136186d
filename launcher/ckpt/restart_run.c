// SPDX-License-Identifier: BSD-3-Clause
// Brings the processes of a checkpoint back, as children of this mpiexec and with its pipes.
#include "launcher/ckpt/restart_run.h"

#include "base/clock.h"
#include "boot/ckpt_wire.h"
#include "boot/launcher_wire.h"
#include "launcher/base/output.h"
#include "launcher/base/pidns.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/criu_run.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/restart_files.h"
#include "launcher/ckpt/restart_ghosts.h"
#include "launcher/job/job.h"
#include "launcher/job/members.h"
#include "launcher/job/rank_rows.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/spawn.h"
#include "launcher/job/role.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FREE_MS = 10000, // for the numbers of processes to become free
    LOOK_MS = 20,    // between two looks at them
    SHOW_MS = 500    // between two lines about progress
};

struct pli_ckpt_restored {
    struct pli_helper criu; // first
    const struct pli_manifest_task *from;
    struct pli_proc_task *task;
    char *images;            // where CRIU finds them
    int out, err, resume_fd; // ours
    bool is_started, is_there;
    bool is_alone; // see pli_restart_ghosts
};

static struct pli_proc_task *task_for(struct pli_job *job, uint32_t row)
{
    for (uint32_t i = 0; i < job->n_first; i++) {
        if (job->tasks[i].first == row) {
            return &job->tasks[i];
        }
    }
    const struct pli_node_header *h = job->node.header;
    return row >= h->n_row && row - h->n_row < h->n_more ? pli_spawn_adopt(job, row) : NULL;
}

// A process that was alive gets a task; the others are over.
static bool plan(struct pli_job *job)
{
    const struct pli_manifest *m = job->from;
    pli_launcher.ckpt->restart.n_restored = m->n_task;
    pli_launcher.ckpt->restart.restored = pli_say_need(calloc(
        pli_launcher.ckpt->restart.n_restored + 1, sizeof *pli_launcher.ckpt->restart.restored));
    pli_rank_rows_restore(job, m->spawned);
    if (m->members != NULL) {
        pli_members_adopt(m->members, m->n_member);
    }
    for (uint32_t i = 0; i < job->n_first; i++) {
        job->tasks[i].job = job;
        job->tasks[i].is_over = job->tasks[i].is_exited = true;
    }
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored; i++) {
        struct pli_proc_task *t = task_for(job, m->tasks[i].row);
        if (t == NULL) {
            pli_say("the checkpoint has a rank %u that the job has not", m->tasks[i].row);
            return false;
        }
        t->is_over = t->is_exited = false;
        job->n_task += t->is_spawned ? 1 : 0;
        pli_launcher.ckpt->restart.restored[i] =
            (struct pli_ckpt_restored){ .criu = { .watch = { .fd = -1 }, .report = -1 },
                                        .from = &m->tasks[i],
                                        .task = t,
                                        .out = -1,
                                        .err = -1,
                                        .resume_fd = -1 };
    }
    return true;
}

// Images bear the numbers of their processes, and only these will do. Those of a job that was just
// killed may be there for a moment.
static bool wait_free(void)
{
    uint64_t end = pli_clock_ns() + (uint64_t)FREE_MS * PLI_MS;
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored;) {
        if (kill(pli_launcher.ckpt->restart.restored[i].from->pid, 0) != 0 && errno == ESRCH) {
            i++;
        } else if (pli_clock_ns() > end) {
            pli_say("rank %u had the process number %d, which another process has now: the job "
                    "cannot be restarted while that runs. Is the job itself still running?",
                    pli_launcher.ckpt->restart.restored[i].from->row,
                    pli_launcher.ckpt->restart.restored[i].from->pid);
            return false;
        } else {
            poll(NULL, 0, LOOK_MS);
        }
    }
    return true;
}

static bool start(struct pli_job *job, struct pli_ckpt_restored *b)
{
    char log[32];
    struct pli_criu_restore_plan back = {
        .dir = b->images,
        .work = pli_launcher.ckpt->restart.work,
        .log = log,
        .fds = { -1, -1, -1, -1 },
        .inodes = { b->from->out, b->from->err, b->from->resume_pipe, b->from->in },
    };
    int *theirs = back.fds;
    snprintf(log, sizeof log, "%u.log", b->from->row);
    if (!pli_criu_pipe(0, &b->out, &theirs[0]) || !pli_criu_pipe(0, &b->err, &theirs[1]) ||
        !pli_criu_pipe(1, &b->resume_fd, &theirs[2])) {
        return false;
    }
    theirs[3] = pli_launcher.role->open_input(job, b->task, pli_launch_null());
    b->is_started = pli_criu_restore(&b->criu, &back);
    for (int i = 0; i < 3; i++) {
        close(theirs[i]);
    }
    pli_stdin_started(b->task, theirs[3], pli_launch_null());
    return b->is_started;
}

static void images_of(const struct pli_job *job, const struct pli_ckpt_restored *b, char *to,
                      size_t cap)
{
    snprintf(to, cap, "%s/rank.%u", job->from->dir, b->from->row);
}

// All files are as they were, or are made so; none is changed before all were looked at.
static bool prepare_files(const struct pli_job *job)
{
    static const enum pli_restart_stage stages[] = { PLI_RESTART_FIND, PLI_RESTART_TRUNCATE,
                                                     PLI_RESTART_CHECK };
    char dir[PATH_MAX + 32];
    bool is_good = true;
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored && job->opt.takes_moved; i++) {
        images_of(job, &pli_launcher.ckpt->restart.restored[i], dir, sizeof dir);
        is_good = is_good &&
                  pli_restart_files_moved(dir, pli_launcher.ckpt->restart.restored[i].from->row);
    }
    for (size_t s = 0; s < sizeof stages / sizeof *stages && !job->opt.takes_moved; s++) {
        for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored && is_good; i++) {
            images_of(job, &pli_launcher.ckpt->restart.restored[i], dir, sizeof dir);
            is_good =
                pli_restart_files(dir, pli_launcher.ckpt->restart.restored[i].from->row, stages[s]);
        }
    }
    return is_good;
}

// Names for files without one, which no other rank uses.
static bool prepare_ghosts(const struct pli_job *job)
{
    char dir[PATH_MAX + 32];
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored; i++) {
        char to[PATH_MAX];
        images_of(job, &pli_launcher.ckpt->restart.restored[i], dir, sizeof dir);
        if (!pli_restart_ghosts(dir, pli_launcher.ckpt->restart.work, to,
                                &pli_launcher.ckpt->restart.restored[i].is_alone)) {
            pli_say("rank %u had files without a name, for which no folder can be made in %s: %s",
                    pli_launcher.ckpt->restart.restored[i].from->row,
                    pli_launcher.ckpt->restart.work, strerror(errno));
            return false;
        }
        pli_launcher.ckpt->restart.restored[i].images = pli_say_need(strdup(to));
    }
    return true;
}

// Whether it may be restored beside those that are.
static bool may_begin(const struct pli_ckpt_restored *b, uint32_t n_begun)
{
    bool is = true;
    for (uint32_t i = 0; i < n_begun && b->is_alone; i++) {
        is = is && !(pli_launcher.ckpt->restart.restored[i].is_alone &&
                     pli_launcher.ckpt->restart.restored[i].criu.pid > 0);
    }
    return is;
}

// False with a message: it cannot be.
static bool begin(struct pli_job *job, struct pli_ckpt_restored *b)
{
    if (!start(job, b)) {
        pli_say("CRIU cannot be started: %s", strerror(errno));
        return false;
    }
    return true;
}

// How one attempt ended. False with a message: badly.
static bool collect(struct pli_ckpt_restored *b)
{
    int status = 0;
    char log[PATH_MAX + 32], reason[300];
    waitpid(b->criu.pid, &status, 0);
    b->criu.pid = 0;
    close(b->criu.watch.fd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        b->is_there = true;
        return true;
    }
    snprintf(log, sizeof log, "%s/%u.log", pli_launcher.ckpt->restart.work, b->from->row);
    pli_criu_reason(log, WIFSIGNALED(status) ? WTERMSIG(status) : 0, reason, sizeof reason);
    pli_say("rank %u cannot be restored: %s", b->from->row, reason);
    return false;
}

// Whether the user wants to leave.
static bool is_asked_to_end(int signals)
{
    struct signalfd_siginfo info;
    bool is = false;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int sig = (int)info.ssi_signo;
        is = is || sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
    }
    return is;
}

// Restore all, as many at a time as there are processors. False: some failed, or ^C.
static bool restore(struct pli_job *job, int signals)
{
    long n_most = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n_next = 0, n_done = 0;
    bool is_good = true;
    while (is_good && n_done < pli_launcher.ckpt->restart.n_restored) {
        struct pollfd p[64 + 1] = { { .fd = signals, .events = POLLIN } };
        struct pli_ckpt_restored *who[64 + 1];
        int n = 1;
        for (uint32_t i = 0; i < n_next; i++) {
            if (pli_launcher.ckpt->restart.restored[i].criu.pid > 0) {
                who[n] = &pli_launcher.ckpt->restart.restored[i];
                p[n++] =
                    (struct pollfd){ .fd = pli_launcher.ckpt->restart.restored[i].criu.watch.fd,
                                     .events = POLLIN };
            }
        }
        if (n <= n_most && n <= 64 && n_next < pli_launcher.ckpt->restart.n_restored &&
            may_begin(&pli_launcher.ckpt->restart.restored[n_next], n_next)) {
            is_good = begin(job, &pli_launcher.ckpt->restart.restored[n_next++]);
            continue;
        }
        if (poll(p, (nfds_t)n, SHOW_MS) == 0) {
            pli_output_progress("restart: %u of %u ranks are back", n_done,
                                pli_launcher.ckpt->restart.n_restored);
        }
        pli_launcher.ckpt->restart.is_left =
            (p[0].revents & POLLIN) != 0 && is_asked_to_end(signals);
        is_good = !pli_launcher.ckpt->restart.is_left;
        for (int i = 1; i < n; i++) {
            if ((p[i].revents & POLLIN) != 0) {
                n_done++;
                is_good = collect(who[i]) && is_good;
            }
        }
    }
    pli_output_progress("%s", "");
    return is_good;
}

// Our number for a restored process.
static pid_t pid_of(const struct pli_ckpt_restored *b)
{
    return pli_pidns_is_open() ? pli_pidns_find(b->from->pid) : b->from->pid;
}

static void kill_all(void)
{
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored; i++) {
        pli_helper_kill(&pli_launcher.ckpt->restart.restored[i].criu);
        pid_t pid = pli_launcher.ckpt->restart.restored[i].is_there
                        ? pid_of(&pli_launcher.ckpt->restart.restored[i])
                        : 0;
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
}

// Ranks go on in what they were started with.
static void adopt_records(const struct pli_job *job)
{
    uint32_t n = 0, n_rank = pli_launcher.ckpt->restart.n_restored;
    if (job->trace_fd <= 0) {
        return;
    }
    for (uint32_t i = 0; i < n_rank; i++) {
        const struct pli_ckpt_restored *b = &pli_launcher.ckpt->restart.restored[i];
        n += pli_trace_memory_adopt(pid_of(b), b->from->pid) ? 1 : 0;
    }
    if (n < n_rank) {
        pli_say("%u of the %u ranks that were restored record nothing for %s: the job was started "
                "without it",
                n_rank - n, n_rank, job->opt.timeline != NULL ? "--timeline" : "--profile");
    }
}

static bool adopt(struct pli_job *job)
{
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored; i++) {
        struct pli_proc_task *t = pli_launcher.ckpt->restart.restored[i].task;
        t->pid = pid_of(&pli_launcher.ckpt->restart.restored[i]);
        t->watch.fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
        if (t->watch.fd < 0) {
            pli_say("rank %u was restored and is gone: %s", t->rank, strerror(errno));
            return false;
        }
        pli_launch_watch(job, t, pli_launcher.ckpt->restart.restored[i].out,
                         pli_launcher.ckpt->restart.restored[i].err);
        pli_supervisor_follow(t);
    }
    for (uint32_t i = 0; i < job->n_first; i++) {
        if (job->tasks[i].is_over) {
            job->n_started++;
            job->n_over++;
        }
    }
    job->n_begun = job->n_first;
    adopt_records(job);
    return true;
}

void pli_restart_resize(struct pli_job *job)
{
    struct pli_ask_resize ask = { PLI_ASK_TO, job->restart_n };
    struct pli_answer a = { 0 };
    uint32_t n;
    n = pli_members_list(&n) != NULL ? n : job->n_rank;
    struct pli_options *o = &job->opt;
    if (job->restart_n == 0 || job->restart_n == n) {
        return;
    }
    if (o->elastic_max == 0) { // no limit of ranks was given
        o->elastic_min = n < ask.n ? n : ask.n;
        o->elastic_max = n > ask.n ? n : ask.n;
        pli_say("the job had %u ranks and is resized to %u, which the program must follow as after "
                "mpictl resize: by MPIX_World_version or MPI_COMM_RESIZED_WORLD",
                n, ask.n);
    }
    pli_resize_begin(job, (const char *)&ask, sizeof ask, NULL, &a);
    if (a.error != 0) {
        pli_say("the job goes on with %u ranks and not %u: %s", n, job->restart_n, a.text);
    }
}

// The ranks take up what was registered when they ask for it.
static bool offer_state(struct pli_job *job)
{
    struct pli_node_save *save = pli_node_save(job->node.header);
    if (strlen(job->from->dir) >= sizeof save->from) {
        pli_say("the name of the checkpoint is too long: %s", job->from->dir);
        return false;
    }
    snprintf(save->from, sizeof save->from, "%.1023s", job->from->dir);
    save->n_piece = job->from->n_rank;
    save->number = job->from->number;
    pli_say("going on from the state of %u ranks in checkpoint %u", job->from->n_rank,
            job->from->number);
    return true;
}

void pli_restart_call_all(void)
{
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored; i++) {
        pli_ckpt_resume_call(pli_launcher.ckpt->restart.restored[i].task,
                             pli_launcher.ckpt->restart.restored[i].resume_fd);
        pli_launcher.ckpt->restart.restored[i].resume_fd = -1;
    }
}

bool pli_restart_call(struct pli_job *job)
{
    if (job->from == NULL || !pli_launcher.ckpt->restart.is_waiting) {
        return false;
    }
    pli_launcher.ckpt->restart.is_waiting = false;
    pli_restart_call_all();
    return true;
}

// Above the numbers that they and their threads had: CRIU's own processes are there too. In a small
// namespace, such as one of another restart, all are low.
static pid_t last_pid(void)
{
    enum { THREADS = 1000 };
    pid_t last = 0;
    for (uint32_t i = 0; i < pli_launcher.ckpt->restart.n_restored; i++) {
        last = pli_launcher.ckpt->restart.restored[i].from->pid > last
                   ? pli_launcher.ckpt->restart.restored[i].from->pid
                   : last;
    }
    return last + THREADS;
}

// Where CRIU writes its messages, and where images with other names for files without one are.
static bool make_work(const struct pli_job *job)
{
    struct pli_ckpt_restart *all = &pli_launcher.ckpt->restart;
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%.*s%s", PATH_MAX - 8, job->from->dir,
             job->opt.takes_moved
                 ? ""
                 : pli_launcher.ckpt->role->ranks->up); // no other process sees the former
    pli_ckpt_temp(all->work, parent, getpid(), "restart");
    if (mkdir(all->work, 0700) != 0) {
        pli_say("%s cannot be made, for the messages of CRIU: %s", all->work, strerror(errno));
        return false;
    }
    return true;
}

bool pli_restart_ranks(struct pli_job *job, int signals)
{
    struct pli_ckpt_restart *all = &pli_launcher.ckpt->restart;
    if (!plan(job)) {
        return false;
    }
    // Where no PID namespace can be had, the numbers must be free.
    job->node.header->is_nested = !job->opt.is_in_place && pli_pidns_open(last_pid());
    if ((job->node.header->is_nested == 0 && !wait_free()) || !make_work(job)) {
        return false;
    }
    bool is_good = prepare_files(job), is_tried = is_good;
    is_good = is_good && prepare_ghosts(job) && restore(job, signals);
    if (!is_good) {
        kill_all();
        pli_restart_ghosts_clean(all->work);
    }
    pli_ckpt_remove(all->work);
    pli_restart_files_say();
    if (!is_good || !adopt(job)) {
        kill_all();
        if (is_tried && !all->is_left) {
            pli_launcher.ckpt->role->ranks->unrestored(job);
        }
        return false;
    }
    pli_stdin_begin();
    pli_launcher.ckpt->role->ranks->restored(job);
    return true;
}

bool pli_restart_run(struct pli_job *job, int signals)
{
    return job->from->is_state ? offer_state(job) : pli_launcher.ckpt->role->restore(job, signals);
}
