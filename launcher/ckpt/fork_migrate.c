// SPDX-License-Identifier: BSD-3-Clause
// Moves a clone to another host: written and sent where it was forked, restored where it goes.
#include "launcher/ckpt/fork_migrate.h"

#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "launcher/base/launcher.h"
#include "launcher/hosts/daemon_addr.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/criu_run.h"
#include "launcher/base/helper.h"
#include "launcher/job/programs.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/image_transfer.h"
#include "launcher/job/job.h"
#include "launcher/ranks/launch.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/base/pidns.h"
#include "launcher/base/refuse.h"
#include "launcher/ckpt/restart_ghosts.h"
#include "launcher/base/say.h"
#include "launcher/base/tmpdir.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_END = 3 }; // output, error, resume pipe

struct pli_fork_migrate_clone {
    struct pli_helper work;              // writes the image, or reads it; first
    struct pli_helper send;              // sends it
    struct pli_watch busy;               // ends when the clone can be written
    struct pli_fork_migrate_clone *next; // not freed: an event of this turn may name one
    struct pli_job *job;
    struct pli_daemon_addr to;
    uint32_t index;
    enum { UNUSED, LEAVING, COMING } side;
    pid_t pid;       // of the process here, 0: none
    int pidfd;       // and by which it is killed
    int number;      // as it knows itself
    int ends[N_END]; // ours
    bool is_begun, is_dropped;
};

static struct pli_fork_migrate_clone *find(uint32_t index)
{
    struct pli_fork_migrate_clone *v = pli_launcher.ckpt->clones;
    while (v != NULL && (v->side == UNUSED || v->index != index)) {
        v = v->next;
    }
    return v;
}

static struct pli_fork_migrate_clone *add(struct pli_job *job, uint32_t index, int side)
{
    struct pli_fork_migrate_clone *v = pli_launcher.ckpt->clones;
    while (v != NULL && v->side != UNUSED) {
        v = v->next;
    }
    struct pli_fork_migrate_clone *next = v != NULL ? v->next : pli_launcher.ckpt->clones;
    if (v == NULL) {
        v = pli_launcher.ckpt->clones = pli_say_need(calloc(1, sizeof *v));
    }
    *v = (struct pli_fork_migrate_clone){ .work = { .watch = { .fd = -1 }, .report = -1 },
                                          .send = { .watch = { .fd = -1 }, .report = -1 },
                                          .busy = { .fd = -1 },
                                          .next = next,
                                          .job = job,
                                          .index = index,
                                          .pidfd = -1,
                                          .ends = { -1, -1, -1 } };
    v->side = side;
    return v;
}

static void close_ends(struct pli_fork_migrate_clone *v)
{
    for (int i = 0; i < N_END; i++) {
        if (v->ends[i] >= 0) {
            close(v->ends[i]);
        }
        v->ends[i] = -1;
    }
}

// End a clone that will not become a rank. Its process number may belong to another process by now;
// its pidfd still means the clone.
static void end_process(int pidfd, pid_t pid)
{
    if (pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        waitpid(pid, NULL, 0); // ours as an orphan, unless a PID namespace has it
        close(pidfd);
    }
}

// The clone is done with, however that went. Without other clones nothing in the temporary
// directory is needed.
static void end(struct pli_fork_migrate_clone *v)
{
    bool is_last = true;
    pli_helper_kill(&v->send);
    pli_loop_close(&v->busy);
    close_ends(v);
    end_process(v->pidfd, v->pid);
    v->pidfd = -1;
    v->side = UNUSED;
    for (const struct pli_fork_migrate_clone *o = pli_launcher.ckpt->clones; o != NULL;
         o = o->next) {
        is_last = is_last && o->side == UNUSED;
    }
    if (is_last) {
        pli_image_transfer_close();
    }
}

static void __attribute__((format(printf, 2, 3)))
fail(struct pli_fork_migrate_clone *v, const char *fmt, ...)
{
    char text[200], all[240];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(all, sizeof all, "%.190s", text);
    pli_daemon_send(PLI_DLINK_CLONE_SENT, 1, v->index, all, strlen(all));
}

// Leaving.

void pli_fork_migrate_expect_outgoing(struct pli_job *job, uint32_t index, struct pli_answer *a)
{
    char why[PLI_CKPT_WHY];
    if (!pli_criu_check(why)) {
        pli_refuse(a, ENOTSUP, "%.*s", (int)strcspn(why, ";"), why);
    } else if (!pli_tmpdir_open()) {
        pli_refuse(a, errno, "there is no room for images (PLIANT_IMAGE_DIR): %s", strerror(errno));
    } else {
        add(job, index, LEAVING);
    }
}

static void hear_send_clone(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    uint32_t number = pli_unpack_u32(&u), row = pli_node_row_of(&job->node, f->a);
    struct pli_fork_migrate_clone *v = find(f->a);
    if (v != NULL && v->side == LEAVING && row != UINT32_MAX) {
        pli_daemon_addr_unpack(&v->to, &u);
        // Its parent waits for that.
        atomic_store(&job->node.rows[row].pid, u.is_bad ? 0 : number);
    }
}

static void folder(const struct pli_fork_migrate_clone *v, char *to, size_t cap, bool is_inner)
{
    int n = snprintf(to, cap, "%.*s/far.%u", PATH_MAX - 64, pli_tmpdir_path(), v->index);
    if (is_inner) {
        snprintf(to + n, cap - (size_t)n, "/rank.%u", v->index);
    }
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static void sent(struct pli_helper *h, bool is_good)
{
    struct pli_fork_migrate_clone *v =
        (struct pli_fork_migrate_clone *)((char *)h -
                                          offsetof(struct pli_fork_migrate_clone, send));
    char text[PLI_CKPT_WHY], dir[PATH_MAX];
    struct pli_pack p = { 0 };
    if (!is_good) {
        pli_helper_reason(h, text, sizeof text);
        fail(v, "%.180s", text);
        return;
    }
    pli_pack_u32(&p, (uint32_t)v->number);
    for (int i = 0; i < N_END; i++) {
        pli_pack_u64(&p, inode_of(v->ends[i]));
    }
    pli_daemon_send(PLI_DLINK_CLONE_SENT, 0, v->index, p.data, p.len);
    pli_pack_fini(&p);
    folder(v, dir, sizeof dir, false);
    pli_ckpt_remove(dir);
    end(v);
}

static void written(struct pli_helper *h, bool is_good)
{
    struct pli_fork_migrate_clone *v = (struct pli_fork_migrate_clone *)h;
    char dir[PATH_MAX], log[PATH_MAX + 16], reason[160];
    folder(v, dir, sizeof dir, true);
    if (v->is_dropped) {
        end(v);
        return;
    }
    if (!is_good) {
        snprintf(log, sizeof log, "%s/dump.log", dir);
        pli_criu_reason(log, h->killed_by, reason, sizeof reason);
        fail(v, "the clone could not be written: %s", reason);
        return;
    }
    pli_fault("daemon_fork_send", v->job->here);
    folder(v, dir, sizeof dir, false);
    v->send.done = sent;
    if (pli_image_transfer_send(&v->send, v->job, &v->to, dir)) {
        pli_helper_watch(&v->send);
    } else {
        fail(v, "a process cannot be started: %s", strerror(errno));
    }
}

// It has given up all that connects it with others, or has ended.
static void write_out(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct pli_fork_migrate_clone *v =
        (struct pli_fork_migrate_clone *)((char *)w -
                                          offsetof(struct pli_fork_migrate_clone, busy));
    char dir[PATH_MAX];
    pli_loop_close(w);
    if (v->is_begun) {
        return;
    }
    v->is_begun = true;
    pli_fault("daemon_fork_dump", v->job->here);
    folder(v, dir, sizeof dir, false);
    int error = mkdir(dir, 0700) == 0 ? 0 : errno;
    folder(v, dir, sizeof dir, true);
    v->work.done = written;
    const struct pli_criu_dump_plan d = {
        .number = (uint32_t)v->number, .dir = dir, .is_last = true, .page_fd = -1
    };
    if (error == 0 && mkdir(dir, 0700) == 0 && pli_criu_dump(&v->work, &d)) {
        pli_helper_watch(&v->work);
    } else {
        fail(v, "CRIU cannot be started, or its directory not be made: %s",
             strerror(error != 0 ? error : errno));
    }
}

static void kill_unexpected(pid_t pid, const int own[4])
{
    end_process(pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, pid);
    for (int i = 0; i < 4; i++) {
        if (own[i] >= 0) {
            close(own[i]);
        }
    }
}

void pli_fork_migrate_depart(struct pli_proc_task *parent, uint32_t row, pid_t pid, int number,
                             const int own[4])
{
    const struct pli_node *node = &parent->job->node;
    uint32_t index = row < pli_node_n_used(node) ? node->rows[row].index : UINT32_MAX;
    struct pli_fork_migrate_clone *v = find(index);
    if (v == NULL || v->side != LEAVING || v->pid != 0 || pid <= 1 || own[3] < 0 ||
        pli_supervisor_is_ending()) {
        kill_unexpected(pid, own); // it is not expected any more
        return;
    }
    v->pid = pid;
    v->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    v->number = number;
    v->ends[0] = own[1];
    v->ends[1] = own[2];
    v->ends[2] = own[0];
    v->busy = (struct pli_watch){ .fd = own[3], .fire = write_out };
    pli_loop_watch(&v->busy, EPOLLIN);
}

// Coming.

// A number that no process has here, and that none will get soon: they are given in turn.
static uint32_t free_number(void)
{
    enum { TRIES = 1000, LEAST = 1 << 15 };
    uint32_t most = LEAST, number = 0;
    FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
    if (f != NULL) {
        if (fscanf(f, "%u", &most) != 1 || most < LEAST) {
            most = LEAST;
        }
        fclose(f);
    }
    for (int i = 0; i < TRIES; i++) {
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
            break;
        }
        number = most / 2 + number % (most / 4); // a PID namespace needs numbers above its own
        if (kill((pid_t)number, 0) != 0 && errno == ESRCH) {
            return number;
        }
    }
    return 0;
}

void pli_fork_migrate_expect_incoming(struct pli_job *job, uint32_t index, struct pli_answer *a)
{
    char why[PLI_CKPT_WHY];
    struct pli_daemon_addr place;
    struct pli_pack p = { 0 };
    uint32_t number = free_number();
    if (!pli_criu_check(why) || !pli_image_transfer_open(&place, why) ||
        !pli_ckpt_resume_open(job, pli_ckpt_all_back)) {
        pli_refuse(a, ENOTSUP, "%.*s", (int)strcspn(why, ";"), why);
        return;
    }
    if (number == 0) {
        pli_refuse(a, EAGAIN, "there is no number for another process");
        return;
    }
    add(job, index, COMING);
    pli_pack_u32(&p, number);
    pli_daemon_addr_pack(&place, &p);
    pli_daemon_send(PLI_DLINK_CLONE_READY, 0, index, p.data, p.len);
    pli_pack_fini(&p);
}

// The number it has in this process's PID namespace.
static pid_t pid_of(const struct pli_fork_migrate_clone *v)
{
    return pli_pidns_is_open() ? pli_pidns_find(v->number) : v->number;
}

// It is a process of this host from now on.
static struct pli_proc_task *adopt(struct pli_fork_migrate_clone *v)
{
    struct pli_job *job = v->job;
    uint32_t row = pli_node_row_of(&job->node, v->index), app = job->node.rows[row].app;
    struct pli_programs *c =
        pli_say_need(pli_programs_borrow(&job->apps[app < job->n_app ? app : 0], 1));
    struct pli_proc_task *t = pli_say_need(pli_programs_task(job, c, row));
    pli_programs_release(c);
    t->pid = v->pid;
    t->watch.fd = (int)syscall(SYS_pidfd_open, v->pid, 0);
    t->job = job;
    pli_launch_watch(job, t, v->ends[0], v->ends[1]);
    v->ends[0] = v->ends[1] = -1;
    pli_supervisor_adopt(t);
    return t;
}

static void restored(struct pli_helper *h, bool is_good)
{
    struct pli_fork_migrate_clone *v = (struct pli_fork_migrate_clone *)h;
    char log[PATH_MAX + 32], reason[160];
    v->pid = is_good ? pid_of(v) : 0;
    if (v->is_dropped) {
        if (v->pid > 1) {
            kill(v->pid, SIGKILL);
            waitpid(v->pid, NULL, 0);
        }
        end(v);
        return;
    }
    if (v->pid <= 1) {
        snprintf(log, sizeof log, "%.*s/%u.log", PATH_MAX - 1, pli_tmpdir_path(), v->index);
        pli_criu_reason(log, h->killed_by, reason, sizeof reason);
        fail(v, "the clone could not be restored: %s", reason);
        return;
    }
    pli_fault("daemon_fork_restored", v->job->here);
    struct pli_proc_task *t = adopt(v);
    pli_ckpt_resume_call(t, v->ends[2]);
    v->ends[2] = -1;
    end(v);
    if (pli_supervisor_is_ending()) {
        pli_supervisor_drop(t);
    }
}

static bool is_free(int number)
{
    return pli_pidns_is_open() ? pli_pidns_find(number) == 0
                               : kill(number, 0) != 0 && errno == ESRCH;
}

static bool restore(struct pli_fork_migrate_clone *v, const uint64_t inodes[N_END])
{
    char dir[PATH_MAX], images[PATH_MAX], log[32];
    struct pli_criu_restore_plan b = { .dir = images,
                                       .work = pli_tmpdir_path(),
                                       .log = log,
                                       .fds = { -1, -1, -1, -1 },
                                       .inodes = { inodes[0], inodes[1], inodes[2], 0 } };
    snprintf(dir, sizeof dir, "%.*s/rank.%u", PATH_MAX - 32, pli_tmpdir_path(), v->index);
    snprintf(log, sizeof log, "%u.log", v->index);
    bool is_alone, is_good = pli_restart_ghosts(dir, pli_tmpdir_path(), images, &is_alone);
    for (int i = 0; i < N_END && is_good; i++) {
        is_good = pli_criu_pipe(i == 2, &v->ends[i], &b.fds[i]);
    }
    is_good = is_good && pli_criu_restore(&v->work, &b);
    for (int i = 0; i < N_END; i++) {
        if (b.fds[i] >= 0) {
            close(b.fds[i]);
        }
    }
    return is_good;
}

static void hear_restore_clone(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    struct pli_fork_migrate_clone *v = find(f->a);
    int number = (int)pli_unpack_u32(&u);
    uint64_t inodes[N_END];
    for (int i = 0; i < N_END; i++) {
        inodes[i] = pli_unpack_u64(&u);
    }
    if (v == NULL || v->side != COMING || v->is_begun || u.is_bad || number <= 1) {
        return;
    }
    pli_fault("daemon_fork_restore", job->here);
    v->is_begun = true;
    v->number = number;
    v->work.done = restored;
    if (!is_free(number)) {
        fail(v, "another process has the clone's number, %d; try again", number);
    } else if (restore(v, inodes)) {
        pli_helper_watch(&v->work);
    } else {
        fail(v, "CRIU cannot be started: %s", strerror(errno));
    }
}

void pli_fork_migrate_hear(struct pli_job *job, const struct pli_dframe *f)
{
    if (f->kind == PLI_DLINK_SEND_CLONE) {
        hear_send_clone(job, f);
    } else if (f->kind == PLI_DLINK_RESTORE_CLONE) {
        hear_restore_clone(job, f);
    }
}

void pli_fork_migrate_drop(uint32_t first, uint32_t n)
{
    for (struct pli_fork_migrate_clone *v = pli_launcher.ckpt->clones; v != NULL; v = v->next) {
        if (v->side == UNUSED || v->index - first >= n || v->is_dropped) {
            continue;
        }
        v->is_dropped = true;
        if (v->work.pid > 0) { // a CRIU that is stopped leaves a damaged process
            continue;
        }
        end(v);
    }
}

void pli_fork_migrate_commit(void)
{
    for (struct pli_fork_migrate_clone *v = pli_launcher.ckpt->clones; v != NULL; v = v->next) {
        if (v->side != UNUSED && v->work.pid == 0) {
            end(v);
        }
    }
}
