// SPDX-License-Identifier: BSD-3-Clause
// The ranks of this host in a checkpoint: they stop, empty their connections where they have any,
// close their sockets, are written, and resume.
#include "launcher/ckpt/ckpt_ranks.h"

#include "base/clock.h"
#include "boot/ctl_wire.h"
#include "ckpt/freeze_wire.h"
#include "launcher/base/output.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_copy.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/ckpt/ckpt_node.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/ckpt_sockets.h"
#include "launcher/ckpt/ckpt_verify.h"
#include "launcher/ckpt/criu_run.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/page_server.h"
#include "launcher/job/job.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STOP_MS = 20000, // for all ranks to stand still
    SHOW_MS = 500    // between two lines about progress
};

static void check_stopped(void);
static void start_dumps(void);
static void write_copies(void);
static void check_dumped(void);

const char *pli_ckpt_obstacle(const struct pli_job *job)
{
    const char *why = "the job is ending";
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (t->is_exited) {
            continue;
        }
        if (t->indirect != NULL) {
            return "a rank was started by a script; let the script end with 'exec program'";
        }
        if (t->is_spawned && job->node.rows[t->first].version == 0) {
            return "a process that a rank has spawned is running";
        }
        why = NULL;
    }
    return pli_supervisor_is_ending() ? "the job is ending" : why;
}

bool pli_ckpt_is_ready(const struct pli_job *job)
{
    bool is_all = job->n_begun == job->n_first && !pli_resize_is_coming();
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL && is_all;
         t = pli_job_next(job, t)) {
        uint32_t state = atomic_load(&job->node.rows[t->first].state);
        is_all = t->is_over || state == PLI_NODE_RUNNING || state == PLI_NODE_FINALIZED;
    }
    return is_all;
}

static struct pli_ckpt_rank *rank_of(const struct pli_proc_task *t)
{
    return pli_launcher.ckpt->ranks != NULL
               ? &pli_launcher.ckpt->ranks[pli_job_slot(pli_launcher.ckpt->job, t)]
               : NULL;
}

// The next one of those that ran when the attempt began, NULL: before the first and after the last.
// Of one that has ended there may be no task any more, and its copy is written all the same.
static struct pli_ckpt_rank *next_rank(const struct pli_ckpt_rank *r)
{
    const struct pli_ckpt_state *c = pli_launcher.ckpt;
    for (size_t i = r != NULL ? (size_t)(r - c->ranks) + 1 : 0; i < c->n_slot; i++) {
        if (c->ranks[i].has_begun) {
            return &c->ranks[i];
        }
    }
    return NULL;
}

// A message for all ranks that stand still.
static void say_all(uint32_t what)
{
    const struct pli_freeze_word w = { .what = what };
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        if (r->is_wanted && r->resume_fd >= 0) {
            ssize_t n = write(r->resume_fd, &w, sizeof w);
            (void)n; // one that is gone is noticed as such
            if (what == PLI_FREEZE_STAY) {
                close(r->resume_fd);
                r->resume_fd = -1;
            }
        }
    }
}

// Whether all that take part stand still, have nothing on its way to them, or have closed their
// sockets. Where ranks are connected they go in step: all stand still before the first empties a
// connection, and all have emptied theirs before the first closes it.
enum stage { STOPPED, DRAINED, LEFT };
static bool are_all(enum stage stage)
{
    bool is_all = true;
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        is_all = is_all && (!r->is_wanted || (stage == STOPPED   ? r->resume_fd >= 0
                                              : stage == DRAINED ? r->is_drained
                                                                 : r->is_frozen));
    }
    return is_all;
}

static bool may_copy(void)
{
    const struct pli_ckpt_state *c = pli_launcher.ckpt;
    return !c->is_move && !c->is_copy_bad && c->plan.temp[0] != '\0' &&
           pli_ckpt_copy_is_wanted(c->job);
}

static void end_copies(void)
{
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        pli_ckpt_copy_end(&r->copy);
    }
}

// Whether all that take part have a copy. A rank alone is not enough: all would stand still for it.
// The files of all are measured now, while no rank of the job runs.
static bool are_copied(void)
{
    bool is_all = pli_launcher.ckpt->n_rank > 0;
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        is_all = is_all && (!r->is_wanted || (r->copy.pid != 0 && pli_ckpt_copy_measure(&r->copy)));
    }
    return is_all;
}

static void begin_rank(struct pli_ckpt_rank *r, struct pli_proc_task *t)
{
    struct pli_ckpt_state *c = pli_launcher.ckpt;
    *r = (struct pli_ckpt_rank){ .dump = { .watch = { .fd = -1 }, .report = -1 },
                                 .pages = { .watch = { .fd = -1 }, .report = -1 },
                                 .task = t,
                                 .row = t->first,
                                 .rank = t->rank,
                                 .number = (uint32_t)atomic_load(&c->job->node.rows[t->first].pid),
                                 .copy = PLI_CKPT_COPY_NONE,
                                 .resume_fd = -1,
                                 .has_begun = true,
                                 .is_wanted = true };
    c->n_rank++;
    kill(t->pid, PLI_FREEZE_SIGNAL);
}

void pli_ckpt_ranks_stop(void)
{
    struct pli_node_header *h = pli_launcher.ckpt->job->node.header;
    pli_launcher.ckpt->n_rank = 0;
    pli_launcher.ckpt->is_again = false;
    pli_launcher.ckpt->is_node_done = false;
    pli_launcher.ckpt->is_leaving = false;
    pli_launcher.ckpt->stop_ns = pli_clock_ns();
    pli_ckpt_go(PLI_CKPT_STOPPING);
    pli_ckpt_count();
    pli_launcher.ckpt->has_copies = false;
    atomic_store(&h->freeze_copy, may_copy());
    atomic_store(&h->freeze, ++pli_launcher.ckpt->job->round);
    for (size_t i = 0; i < pli_launcher.ckpt->n_slot; i++) {
        pli_launcher.ckpt->ranks[i] = (struct pli_ckpt_rank){ .resume_fd = -1 };
    }
    for (struct pli_proc_task *t = pli_job_next(pli_launcher.ckpt->job, NULL); t != NULL;
         t = pli_job_next(pli_launcher.ckpt->job, t)) {
        if (!t->is_over && !t->is_exited) {
            begin_rank(rank_of(t), t);
        }
    }
    pli_loop_timer(&pli_launcher.ckpt->deadline, (uint64_t)STOP_MS * PLI_MS);
    if (pli_launcher.ckpt->n_rank == 0) { // of a daemon whose ranks are over
        check_stopped();
    }
}

// A CRIU that is killed leaves its own code behind in the process it was reading: let it finish.
static bool is_dumping(void)
{
    bool is = false;
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        is = is || r->dump.pid > 0 || r->pages.pid > 0;
    }
    return is;
}

void pli_ckpt_all_back(struct pli_job *job)
{
    if (pli_launcher.ckpt->state != PLI_CKPT_RESUMING) {
        return;
    }
    if (pli_launcher.ckpt->has_copies && pli_launcher.ckpt->error == 0) {
        write_copies();
        return;
    }
    if (pli_launcher.ckpt->ranks != NULL) {
        end_copies();
    }
    pli_launcher.ckpt->has_copies = false;
    pli_launcher.ckpt->role->resumed(job);
}

// What is left to do when the images of copies could not be started or written, or are.
static void go_on(void)
{
    if (pli_launcher.ckpt->state == PLI_CKPT_WRITING) {
        check_dumped();
    } else {
        pli_ckpt_ranks_resume();
    }
}

void pli_ckpt_ranks_resume(void)
{
    struct pli_node_header *h = pli_launcher.ckpt->job->node.header;
    enum pli_ckpt_phase before = pli_launcher.ckpt->state;
    if (is_dumping() || !pli_launcher.ckpt->role->ranks->may_resume(before) ||
        !pli_ckpt_go(PLI_CKPT_RESUMING)) {
        return;
    }
    pli_launcher.ckpt->deadline.at = 0;
    atomic_store(&h->freeze, 0);
    if (pli_launcher.ckpt->has_net && before == PLI_CKPT_STOPPING) {
        say_all(PLI_FREEZE_STAY);
    }
    bool is_any = false;
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        if (r->is_wanted && r->resume_fd >= 0) {
            is_any = true;
            pli_ckpt_resume_call(r->task, r->resume_fd);
            r->resume_fd = -1;
        }
    }
    pli_helper_kill(&pli_launcher.ckpt->node);
    if (!is_any) {
        pli_ckpt_all_back(pli_launcher.ckpt->job);
    }
}

static void deadline_fire(struct pli_timer *t)
{
    (void)t;
    if (pli_launcher.ckpt->state != PLI_CKPT_STOPPING) {
        return;
    }
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        if (r->is_wanted && !r->is_frozen) {
            pli_ckpt_fail(ETIMEDOUT,
                          r->resume_fd >= 0
                              ? "rank %u has children that share its connection to mpiexec"
                              : "rank %u does not stop: is it stopped, or all signals blocked?",
                          r->rank);
        }
    }
    pli_ckpt_ranks_resume();
}

// The copies are written, or one cannot be: then the ranks stand still for the next attempt.
static void finish_copies(void)
{
    struct pli_ckpt_state *c = pli_launcher.ckpt;
    end_copies();
    if (c->error != 0 && !pli_supervisor_is_ending()) {
        pli_say("checkpoint %u: %s; the ranks stand still for another attempt", c->plan.number,
                c->why);
        pli_ckpt_clear();
        c->is_copy_bad = c->is_again = true;
    }
    c->role->resumed(c->job);
}

static void check_dumped(void)
{
    struct pli_ckpt_state *c = pli_launcher.ckpt;
    bool is_all = true, is_writing = c->state == PLI_CKPT_WRITING;
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        is_all = is_all && (!r->is_wanted || r->is_dumped);
    }
    if (is_writing && !is_dumping() && (is_all || c->error != 0)) {
        finish_copies();
    } else if (!is_writing && (c->error != 0 || (c->is_node_done && (is_all || c->has_copies)))) {
        pli_ckpt_ranks_resume();
    }
}

static void write_copies(void)
{
    pli_launcher.ckpt->go_ns = pli_clock_ns();
    pli_ckpt_go(PLI_CKPT_WRITING);
    pli_launcher.ckpt->role->ranks->copied();
    start_dumps();
}

static void node_done(struct pli_helper *h, bool is_good)
{
    pli_launcher.ckpt->is_node_done = true;
    if (!is_good) {
        char text[PLI_CKPT_WHY];
        pli_helper_reason(h, text, sizeof text);
        pli_ckpt_fail(EIO, "%s", text);
        pli_ckpt_ranks_resume();
        return;
    }
    check_dumped();
}

static void images_of(const struct pli_ckpt_rank *r, char *to, size_t cap)
{
    snprintf(to, cap, "%s/rank.%u", pli_launcher.ckpt->plan.temp, r->row);
}

// Neither CRIU works on a rank any more, nor what takes its memory.
static void rank_done(struct pli_ckpt_rank *r)
{
    char dir[PATH_MAX + 32], why[PLI_CKPT_WHY];
    if (r->dump.pid > 0 || r->pages.pid > 0) {
        return;
    }
    images_of(r, dir, sizeof dir);
    if (r->copy.pid != 0) {
        if (!r->is_failed && !pli_ckpt_copy_rename(dir, &r->copy, r->number, why, sizeof why)) {
            pli_ckpt_fail(EIO, "rank %u could not be written: %s", r->rank, why);
            r->is_failed = true;
        }
        pli_ckpt_copy_end(&r->copy);
    }
    if (!r->is_failed && !pli_ckpt_verify(dir, why)) {
        pli_ckpt_fail(EIO, "rank %u could not be restored from what was written: %s", r->rank, why);
        r->is_failed = true;
    }
    r->is_dumped = !r->is_failed;
    start_dumps();
    check_dumped();
}

static void pages_done(struct pli_helper *h, bool is_good)
{
    struct pli_ckpt_rank *r =
        (struct pli_ckpt_rank *)((char *)h - offsetof(struct pli_ckpt_rank, pages));
    if (!is_good) {
        char text[PLI_CKPT_WHY];
        pli_helper_reason(h, text, sizeof text);
        // CRIU says only that its pages are not taken; when it failed first it knows the reason.
        if (r->dump.pid > 0 || !r->is_failed) {
            pli_ckpt_fail(EIO, "rank %u could not be written: %.300s", r->rank, text);
        }
        r->is_failed = true;
    }
    rank_done(r);
}

static void dump_done(struct pli_helper *h, bool is_good)
{
    struct pli_ckpt_rank *r = (struct pli_ckpt_rank *)h; // its first member
    char dir[PATH_MAX + 32], log[PATH_MAX + 64], why[PLI_CKPT_WHY], socket[160] = "";
    images_of(r, dir, sizeof dir);
    if (!is_good && !r->is_failed) {
        pid_t pid = r->copy.pid != 0 ? r->copy.pid : r->task->pid;
        snprintf(log, sizeof log, "%s/dump.log", dir);
        pli_criu_reason(log, h->killed_by, why, 256);
        bool has_socket =
            h->killed_by == 0 && pli_ckpt_sockets_find(pid, true, socket, sizeof socket);
        pli_ckpt_fail(EIO, "rank %u could not be written: %s%s%s", r->rank, why,
                      has_socket ? "; its " : "", socket);
    }
    r->is_failed = r->is_failed || !is_good;
    rank_done(r);
}

// The images of the checkpoint that this one is based on, if that has the rank.
static bool link_base(const struct pli_ckpt_rank *r, const char *dir)
{
    const struct pli_ckpt_plan *plan = &pli_launcher.ckpt->plan;
    char to[64], link[PATH_MAX + 64];
    snprintf(to, sizeof to, "../%s/rank.%u", plan->parent, r->row);
    snprintf(link, sizeof link, "%s/parent", dir);
    if (plan->pages != PLI_CKPT_PAGES_CHANGED || symlink(to, link) != 0) {
        return false;
    }
    bool is_there = access(link, R_OK | X_OK) == 0;
    if (!is_there) {
        unlink(link);
    }
    return is_there;
}

// What takes the memory of a rank from CRIU: its end of the connection, -1 with errno: there is
// none.
static int start_pages(struct pli_ckpt_rank *r, const char *dir)
{
    int fds[2];
    struct pli_page_server_plan p;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return -1;
    }
    p = (struct pli_page_server_plan){ .fd = fds[0],
                                       .other = fds[1],
                                       .copy = (uint32_t)r->copy.number,
                                       .original = r->number,
                                       .has_base = link_base(r, dir) };
    snprintf(p.dir, sizeof p.dir, "%.*s", PATH_MAX - 1, dir);
    bool is_good = pli_helper_fork(&r->pages, pli_page_server_run, &p);
    close(fds[0]);
    if (!is_good) {
        close(fds[1]);
        return -1;
    }
    r->pages.done = pages_done;
    pli_helper_watch(&r->pages);
    return fds[1];
}

static bool dump(struct pli_ckpt_rank *r)
{
    char dir[PATH_MAX + 32];
    images_of(r, dir, sizeof dir);
    bool is_copy = r->copy.pid != 0;
    // The number by which the process knows itself: CRIU is in the same PID namespace.
    struct pli_criu_dump_plan d = { .number = is_copy ? (uint32_t)r->copy.number : r->number,
                                    .dir = dir,
                                    .is_last = is_copy,
                                    .page_fd = -1 };
    if (mkdir(dir, 0700) != 0) {
        return false;
    }
    if (pli_launcher.ckpt->plan.pages != PLI_CKPT_PAGES_PLAIN) {
        d.page_fd = start_pages(r, dir);
    }
    bool is_good = (pli_launcher.ckpt->plan.pages == PLI_CKPT_PAGES_PLAIN || d.page_fd >= 0) &&
                   pli_criu_dump(&r->dump, &d);
    if (d.page_fd >= 0) {
        close(d.page_fd);
    }
    return is_good;
}

// As many at a time as there are processors.
static void start_dumps(void)
{
    long n_free = pli_launcher.ckpt->error == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        n_free -= r->dump.pid > 0 || r->pages.pid > 0;
    }
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL && n_free > 0; r = next_rank(r)) {
        if (!r->is_wanted || r->is_dumped || r->is_failed || r->dump.pid > 0 || r->pages.pid > 0) {
            continue;
        }
        if (!dump(r)) {
            pli_ckpt_fail(errno, "CRIU cannot be started, or its directory not be made");
            go_on();
            return;
        }
        r->dump.done = dump_done;
        pli_helper_watch(&r->dump);
        n_free--;
    }
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

// The pipe that is standard input of a rank, 0: it is something else.
static uint64_t input_of(pid_t pid)
{
    char path[64], link[64];
    unsigned long ino = 0;
    snprintf(path, sizeof path, "/proc/%d/fd/0", (int)pid);
    ssize_t n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    return sscanf(link, "pipe:[%lu]", &ino) == 1 ? ino : 0;
}

// The ranks that are written, as the manifest describes them; of the heap.
static struct pli_manifest_task *list_ranks(const struct pli_job *job, uint32_t *n_out)
{
    struct pli_manifest_task *all = calloc(job->n_task + 1, sizeof *all);
    *n_out = 0;
    for (struct pli_ckpt_rank *r = next_rank(NULL); all != NULL && r != NULL; r = next_rank(r)) {
        if (r->is_wanted) {
            all[(*n_out)++] = (struct pli_manifest_task){
                r->row,
                (int32_t)r->number,
                input_of(r->task->pid),
                inode_of(r->task->out.watch.fd),
                inode_of(r->task->err.watch.fd),
                inode_of(pli_launcher.ckpt->has_copies ? r->copy.resume_fd : r->resume_fd),
                job->here
            };
        }
    }
    return all;
}

static bool write_node(void *arg, int report)
{
    const struct pli_ckpt_plan *plan = &pli_launcher.ckpt->plan;
    char path[PATH_MAX + 16], link[PATH_MAX + 32], hashes[PATH_MAX + 32], base[PATH_MAX + 64];
    char to[64];
    (void)arg;
    snprintf(path, sizeof path, "%s/node.img", plan->temp);
    if (plan->pages == PLI_CKPT_PAGES_PLAIN) {
        return pli_ckpt_node_write(pli_launcher.ckpt->job->node_fd, path, report);
    }
    snprintf(link, sizeof link, "%s.parent", path);
    snprintf(to, sizeof to, "%s/node.img", plan->parent);
    snprintf(hashes, sizeof hashes, "%s/pagehash-node", plan->temp);
    snprintf(base, sizeof base, "%s/%s/pagehash-node", plan->temp, plan->parent);
    bool has_base = plan->pages == PLI_CKPT_PAGES_CHANGED && symlink(to, link) == 0;
    return pli_ckpt_node_write_hashed(pli_launcher.ckpt->job->node_fd, path, hashes,
                                      has_base ? base : NULL, report);
}

// What is to be said of the ranks, while their pipes are there.
static bool describe(void)
{
    uint32_t n;
    struct pli_manifest_task *tasks = list_ranks(pli_launcher.ckpt->job, &n);
    return tasks != NULL && pli_launcher.ckpt->role->ranks->describe(tasks, n);
}

// Connections of the program itself: their other ends do not stand still, and know nothing of a
// restart.
static bool are_alone(void)
{
    char socket[160];
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        if (r->is_wanted && pli_ckpt_sockets_find(r->task->pid, false, socket, sizeof socket)) {
            pli_ckpt_fail(ENOTSUP,
                          "rank %u cannot be written: its %s, whose other end would know nothing "
                          "of a restart; let the program close it before a checkpoint",
                          r->rank, socket);
            return false;
        }
    }
    return true;
}

// All stand still: write them.
static void start_writing(void)
{
    if (pli_launcher.ckpt->error != 0) { // one died while they emptied their connections
        pli_ckpt_ranks_resume();
        return;
    }
    pli_ckpt_go(PLI_CKPT_DUMPING);
    pli_launcher.ckpt->deadline.at = 0;
    pli_launcher.ckpt->has_copies = are_copied();
    if (!pli_launcher.ckpt->has_copies) {
        end_copies();
    }
    if (pli_launcher.ckpt->plan.temp[0] == '\0') { // others are moved: mine only wait
        pli_ckpt_ranks_resume();
        return;
    }
    if (!pli_launcher.ckpt->role->ranks->may_write() || !are_alone()) {
        pli_ckpt_ranks_resume();
        return;
    }
    pli_ckpt_remove(pli_launcher.ckpt->plan.temp);
    if (mkdir(pli_launcher.ckpt->plan.temp, 0700) != 0 ||
        !pli_launcher.ckpt->role->ranks->link_base() || !describe() ||
        !pli_helper_fork(&pli_launcher.ckpt->node, write_node, NULL)) {
        pli_ckpt_fail(errno, "%.300s cannot be written: %s", pli_launcher.ckpt->plan.temp,
                      strerror(errno));
        pli_ckpt_ranks_resume();
        return;
    }
    pli_launcher.ckpt->node.done = node_done;
    pli_helper_watch(&pli_launcher.ckpt->node);
    pli_loop_timer(&pli_launcher.ckpt->show, (uint64_t)SHOW_MS * PLI_MS);
    if (!pli_launcher.ckpt->has_copies) { // else when the ranks have resumed
        start_dumps();
    }
}

static void check_stopped(void)
{
    if (pli_launcher.ckpt->has_net && pli_launcher.ckpt->state == PLI_CKPT_STOPPING) {
        if (are_all(STOPPED)) {
            pli_launcher.ckpt->deadline.at = 0;
            pli_launcher.ckpt->role->ranks->stopped();
        }
        return;
    }
    if (pli_launcher.ckpt->state == PLI_CKPT_DRAINING && !pli_launcher.ckpt->is_leaving &&
        are_all(DRAINED)) {
        pli_launcher.ckpt->role->ranks->drained();
        return;
    }
    bool is_out = pli_launcher.ckpt->has_net ? pli_launcher.ckpt->is_leaving
                                             : pli_launcher.ckpt->state == PLI_CKPT_STOPPING;
    if (is_out &&
        (pli_launcher.ckpt->state == PLI_CKPT_STOPPING ||
         pli_launcher.ckpt->state == PLI_CKPT_DRAINING) &&
        are_all(LEFT)) {
        start_writing();
    }
}

void pli_ckpt_ranks_drain(void)
{
    if (pli_ckpt_go(PLI_CKPT_DRAINING)) {
        say_all(PLI_FREEZE_DRAIN);
        check_stopped();
    }
}

void pli_ckpt_ranks_leave(void)
{
    pli_launcher.ckpt->is_leaving = true;
    say_all(PLI_FREEZE_LEAVE);
    check_stopped();
}

void pli_ckpt_drained(struct pli_proc_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r != NULL && pli_launcher.ckpt->state == PLI_CKPT_DRAINING) {
        r->is_drained = true;
        check_stopped();
    }
}

void pli_ckpt_frozen(struct pli_proc_task *t, const struct pli_ctl_msg *msg, int resume_fd)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r == NULL || pli_launcher.ckpt->state != PLI_CKPT_STOPPING || !r->is_wanted) {
        if (resume_fd >= 0 && pli_launcher.ckpt->has_net) { // it comes too late
            const struct pli_freeze_word w = { .what = PLI_FREEZE_STAY };
            ssize_t n = write(resume_fd, &w, sizeof w);
            (void)n;
            close(resume_fd);
        } else if (resume_fd >= 0) {
            pli_ckpt_resume_call(t, resume_fd);
        }
        return;
    }
    if (resume_fd >= 0) {
        r->resume_fd = resume_fd;
        if (pli_launcher.ckpt->has_net) {
            check_stopped();
        }
        return;
    }
    if (msg->code == EAGAIN) {
        pli_launcher.ckpt->is_again = true;
    } else {
        pli_ckpt_fail(msg->code, "rank %u cannot be stopped: %s", t->rank, msg->text);
    }
    pli_ckpt_ranks_resume();
}

void pli_ckpt_copied(struct pli_proc_task *t, pid_t pid, int number, int resume_fd, int said)
{
    struct pli_ckpt_rank *r = rank_of(t);
    struct pli_ckpt_copy copy;
    bool is_good = pli_ckpt_copy_begin(&copy, pid, number, resume_fd, said);
    bool is_time = pli_launcher.ckpt->state == PLI_CKPT_STOPPING ||
                   pli_launcher.ckpt->state == PLI_CKPT_DRAINING;
    if (is_good && r != NULL && r->is_wanted && r->resume_fd >= 0 && r->copy.pid == 0 &&
        number > 0 && copy.pidfd >= 0 && resume_fd >= 0 && is_time) {
        r->copy = copy;
    } else {
        pli_ckpt_copy_end(&copy); // it comes too late, or is no good copy
    }
}

void pli_ckpt_hung_up(struct pli_proc_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r != NULL &&
        (pli_launcher.ckpt->state == PLI_CKPT_STOPPING ||
         pli_launcher.ckpt->state == PLI_CKPT_DRAINING) &&
        r->resume_fd >= 0) {
        r->is_frozen = true;
        pli_listener_part(t->first);
        check_stopped();
    }
}

void pli_ckpt_gone(struct pli_proc_task *t)
{
    struct pli_ckpt_rank *r = rank_of(t);
    if (r == NULL || !r->is_wanted || !pli_ckpt_is_stopping()) {
        return;
    }
    bool is_resuming = pli_launcher.ckpt->state == PLI_CKPT_RESUMING;
    // One that went on and has ended since is in the checkpoint: its image, or its copy, is good.
    r->is_wanted = is_resuming && pli_launcher.ckpt->has_copies;
    if (r->resume_fd >= 0) {
        close(r->resume_fd);
        r->resume_fd = -1;
    }
    if (pli_launcher.ckpt->state == PLI_CKPT_STOPPING && t->status == 0) {
        pli_launcher.ckpt->n_rank--; // it had ended in good order before the signal came
        check_stopped();
        return;
    }
    if (is_resuming) {
        pli_ckpt_resume_gone(t);
        return;
    }
    pli_ckpt_fail(ECHILD, "rank %u died", t->rank);
    if (pli_launcher.ckpt->state ==
        PLI_CKPT_DRAINING) { // the others cannot stay as they are any more
        check_stopped();
        return;
    }
    pli_ckpt_ranks_resume();
}

static void show_fire(struct pli_timer *t)
{
    uint32_t n = 0;
    if (pli_launcher.ckpt->state == PLI_CKPT_COMMITTING) {
        pli_output_progress("checkpoint %u: the ranks go on; the images are checked and put on the "
                            "disk",
                            pli_launcher.ckpt->plan.number);
    } else if (pli_launcher.ckpt->state == PLI_CKPT_DUMPING ||
               pli_launcher.ckpt->state == PLI_CKPT_WRITING) {
        for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
            n += r->is_dumped;
        }
        pli_output_progress("checkpoint %u: %u of %u ranks are written",
                            pli_launcher.ckpt->plan.number, n, pli_launcher.ckpt->n_rank);
    } else {
        pli_output_progress("%s", "");
        return;
    }
    pli_loop_timer(t, (uint64_t)SHOW_MS * PLI_MS);
}

bool pli_ckpt_ranks_open(struct pli_job *job)
{
    char why[PLI_CKPT_WHY];
    if (job->opt.ckpt_dir != NULL && !pli_criu_check(why)) {
        pli_say("checkpoints cannot be made: %s", why);
        return false;
    }
    pli_launcher.ckpt->deadline.fire = deadline_fire;
    pli_launcher.ckpt->show.fire = show_fire;
    pli_launcher.ckpt->has_net = (job->node.header->net & PLI_NODE_HAS_NET) != 0;
    pli_launcher.ckpt->n_slot = job->n_first + job->node.header->n_more;
    pli_launcher.ckpt->ranks = calloc(pli_launcher.ckpt->n_slot, sizeof *pli_launcher.ckpt->ranks);
    return pli_launcher.ckpt->ranks != NULL && pli_ckpt_resume_open(job, pli_ckpt_all_back);
}

bool pli_ckpt_ranks_are_written(void)
{
    return !is_dumping();
}

void pli_ckpt_ranks_drop(void)
{
    for (struct pli_ckpt_rank *r = next_rank(NULL); r != NULL; r = next_rank(r)) {
        pli_helper_kill(&r->dump);
        pli_helper_kill(&r->pages);
        pli_ckpt_copy_end(&r->copy);
    }
    pli_helper_kill(&pli_launcher.ckpt->node);
}
