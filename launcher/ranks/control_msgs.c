// SPDX-License-Identifier: BSD-3-Clause
// Reads the messages of ranks on their control sockets. Ranks that a script or a task with several
// ranks has started say hello there; mpiexec cannot wait for them as a parent, so it holds a pidfd
// of each.
#include "launcher/ranks/control_msgs.h"

#include "launcher/job/role.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/ranks/rank_request.h"
#include "boot/ctl_wire.h"
#include "boot/agree_wire.h"
#include "launcher/ranks/listener.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"
#include "launcher/ranks/failure_text.h"
#include "launcher/ranks/supervisor.h"
#include "tools/lib/source_line.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PARENT_MS = 5, // for a rank's parent to collect it, after which its status can be read
    N_TRY = 80,    // times
    N_OWN = 4      // descriptors that come with a message
};

enum knowledge { KNOWN, NOT_YET, NEVER };

// Linux 6.15 and later tell how a process ended that is not our child, once its parent knows.
static enum knowledge exit_of(int pidfd, int *status_out)
{
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t exit_code;
    } info = { .mask = 1u << 3 };
    const unsigned long get_info = _IOC(_IOC_READ | _IOC_WRITE, 0xff, 11, sizeof info);
    if (ioctl(pidfd, get_info, &info) != 0) {
        return NEVER;
    }
    if ((info.mask & 1u << 3) == 0) {
        return NOT_YET;
    }
    *status_out = info.exit_code;
    return KNOWN;
}

// The name of the process that traces another, a debugger; "": none does.
static void find_tracer(pid_t pid, char *to, size_t cap)
{
    char path[64], line[128];
    int tracer = 0;
    to[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && tracer == 0 && fgets(line, sizeof line, f) != NULL) {
        (void)sscanf(line, "TracerPid: %d", &tracer);
    }
    if (f != NULL) {
        fclose(f);
    }
    snprintf(path, sizeof path, "/proc/%d/comm", tracer);
    f = tracer > 0 ? fopen(path, "re") : NULL;
    if (f != NULL) {
        if (fgets(line, sizeof line, f) != NULL) {
            snprintf(to, cap, "%.*s", (int)strcspn(line, "\n"), line);
        }
        fclose(f);
    }
}

// An indirect rank is gone; pidfd may be -1. tracer: the debugger in which it ran, "": none.
static void judge(struct pli_proc_task *t, uint32_t row, pid_t pid, int pidfd, const char *tracer)
{
    const struct pli_node_row *r = &t->job->node.rows[row];
    struct pli_rank_failure c = { .task = t, .row = row, .pid = pid, .why = tracer };
    c.state = atomic_load_explicit(&r->state, memory_order_acquire);
    int status;
    if (c.state == PLI_NODE_ABORTED) {
        c.fault = PLI_FAULT_ABORT;
        c.number = r->abort_code;
        c.why = "";
    } else if (c.state != PLI_NODE_RUNNING) {
        c.fault = PLI_FAULT_NONE; // the process that started it knows, and exits with it
    } else if (pidfd >= 0 && exit_of(pidfd, &status) == KNOWN) {
        c.fault = pli_failure_text_fault(status, c.state, &c.number);
    } else {
        c.fault = PLI_FAULT_VANISHED;
    }
    pli_supervisor_report(&c);
}

static void indirect_over(struct pli_timer *timer)
{
    struct pli_indirect_rank *g =
        (struct pli_indirect_rank *)((char *)timer - offsetof(struct pli_indirect_rank, timer));
    struct pli_node *node = &g->task->job->node;
    int status;
    if (atomic_load_explicit(&node->rows[g->row].state, memory_order_acquire) == PLI_NODE_RUNNING &&
        exit_of(g->watch.fd, &status) == NOT_YET && g->n_look++ < N_TRY) {
        pli_loop_timer(timer, (uint64_t)PARENT_MS * PLI_MS);
        return;
    }
    g->is_over = true;
    pli_node_set_ended(node, node->rows[g->row].index);
    pli_listener_shut(g->row);
    judge(g->task, g->row, g->pid, g->watch.fd, g->tracer);
    pli_loop_close(&g->watch);
    pli_loop_close(&g->control);
    pli_supervisor_check(g->task);
}

static void indirect_fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    struct pli_indirect_rank *g = (struct pli_indirect_rank *)watch; // its first member
    pli_loop_watch(watch, 0);
    g->timer.fire = indirect_over;
    pli_loop_timer(&g->timer, (uint64_t)PARENT_MS * PLI_MS);
}

static void own_fire(struct pli_watch *watch, uint32_t events);

static void close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

// A descriptor that came with a message, for the code that keeps it.
static int take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

// pidfd: of the process, -1: it is to be found by its number. It and control belong to the rank.
static void add_indirect(struct pli_proc_task *t, uint32_t row, pid_t pid, int pidfd, int control)
{
    struct pli_indirect_rank *g = calloc(1, sizeof *g);
    errno = g == NULL ? ENOMEM : ESRCH;
    int fd = g == NULL || pid <= 0 ? -1 : pidfd >= 0 ? pidfd : (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        if (errno == ESRCH) {
            judge(t, row, pid, -1, "");
        } else {
            pli_say("rank %u (process %d) cannot be watched: %s", row, (int)pid, strerror(errno));
        }
        free(g);
        close_all((const int[]){ pidfd, control }, 2);
        return;
    }
    *g = (struct pli_indirect_rank){ .watch = { .fd = fd, .fire = indirect_fire },
                                     .task = t,
                                     .pid = pid,
                                     .row = row,
                                     .control = { .fd = control, .fire = own_fire },
                                     .next = t->indirect };
    find_tracer(pid, g->tracer, sizeof g->tracer);
    t->indirect = g;
    pli_loop_watch(&g->watch, EPOLLIN);
    if (control >= 0) {
        pli_loop_watch(&g->control, EPOLLIN);
    }
    if (pli_supervisor_is_ending()) {
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0); // too late
    }
}

// A process that was forked from a rank; it is not expected any more if its parent gave up.
static void hear_clone(struct pli_proc_task *t, uint32_t row, pid_t pid, int own[N_OWN])
{
    if (pli_launcher.role->add_clone(t, row, pid, own)) {
        memset(own, -1, N_OWN * sizeof *own); // they are its now
        return;
    }
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd >= 0) {
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
        close(fd);
    }
}

// What an aborting rank said, with the place in its source.
static void say_why(const struct pli_ctl_msg *msg, char *to, size_t cap)
{
    char text[sizeof msg->text], site[128] = "";
    snprintf(text, sizeof text, "%.*s", (int)sizeof msg->text - 1, msg->text);
    char *line = strchr(text, '\n');
    if (line != NULL && !pli_supervisor_is_ending()) {
        pli_source_line_of(line + 1, site, sizeof site);
    }
    text[strcspn(text, "\n")] = '\0';
    snprintf(to, cap, "%s%s%s", text, site[0] != '\0' ? ", called at " : "", site);
}

// The process that has sent a message.
struct sender {
    pid_t pid;
    int fd; // pidfd, -1: none
};

// own: what came with it, -1 where there is none: a control socket, a socket for connections. Code
// that keeps one takes it out; the others are closed by the caller.
static void hear(struct pli_proc_task *t, const struct pli_ctl_msg *msg, struct sender *from,
                 int own[N_OWN])
{
    pid_t pid = from->pid;
    if (msg->kind == PLI_CTL_FAR) {
        pli_launcher.ckpt_hooks->clone_departs(t, msg->row, pid, msg->code, own);
        memset(own, -1, N_OWN * sizeof *own); // it has kept or closed them
        return;
    }
    if (msg->kind == PLI_CTL_CLONE) {
        hear_clone(t, msg->row, pid, own);
        return;
    }
    bool is_mine = pli_task_has(t, msg->row);
    if (is_mine && msg->kind == PLI_CTL_HELLO) {
        pli_listener_set(msg->row, take(&own[1]));
        add_indirect(t, msg->row, pid, take(&from->fd), take(&own[0]));
        return;
    }
    if (is_mine && msg->kind == PLI_CTL_AGREE) {
        struct pli_agree_word word;
        memcpy(&word, msg->text, sizeof word);
        pli_launcher.role->agree(t->job, &word);
    }
    if (is_mine && msg->kind == PLI_CTL_READY) {
        pli_launcher.role->rank_ready(t->job, msg->row);
    }
    if (is_mine && msg->kind == PLI_CTL_ASK && own[0] >= 0) {
        pli_rank_request_begin(t->job, take(&own[0]));
        return;
    }
    if (is_mine && msg->kind == PLI_CTL_FROZEN) {
        pli_launcher.ckpt_hooks->frozen(t, msg, take(&own[0]));
        return;
    }
    if (is_mine && msg->kind == PLI_CTL_COPIED) {
        pli_launcher.ckpt_hooks->copied(t, pid, msg->code, take(&own[0]), take(&own[1]));
        return;
    }
    if (is_mine && msg->kind == PLI_CTL_DRAINED) {
        pli_launcher.ckpt_hooks->drained(t);
    }
    if (is_mine && msg->kind == PLI_CTL_SAVE) {
        pli_launcher.ckpt_hooks->save();
    }
    if (is_mine && msg->kind == PLI_CTL_ABORT) {
        char why[2 * sizeof msg->text];
        say_why(msg, why, sizeof why);
        struct pli_rank_failure c = { .task = t,
                                      .row = msg->row,
                                      .pid = pid,
                                      .fault = PLI_FAULT_ABORT,
                                      .number = msg->code,
                                      .state = PLI_NODE_ABORTED,
                                      .why = why };
        pli_supervisor_report(&c);
    }
}

// The descriptors of a packet; no message has more than N_OWN, and any others are closed.
static void take_descriptors(const struct cmsghdr *c, int own[N_OWN])
{
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        if (i < N_OWN) {
            close_all(&own[i], 1);
            own[i] = fd;
        } else {
            close(fd);
        }
    }
}

// One packet from a rank, over its task's socket or its own. False: nothing more is there.
static bool listen_once(struct pli_proc_task *t, struct pli_watch *from)
{
    struct pli_ctl_msg msg = { 0 };
    struct iovec iov = { &msg, sizeof msg };
    union {
        char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(N_OWN * sizeof(int)) +
                   CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } u;
    struct msghdr mh = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.space, .msg_controllen = sizeof u.space
    };
    ssize_t n = from->fd >= 0 ? recvmsg(from->fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) : -1;
    if (n == 0) {
        pli_loop_watch(from, 0); // all processes that had it are gone
        pli_launcher.ckpt_hooks->hung_up(t);
    }
    if (n <= 0) {
        return false;
    }
    int own[N_OWN] = { -1, -1, -1, -1 };
    struct sender who = { 0, -1 };
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c != NULL; c = CMSG_NXTHDR(&mh, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            take_descriptors(c, own);
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred cred;
            memcpy(&cred, CMSG_DATA(c), sizeof cred);
            who.pid = cred.pid; // in our own numbering, whatever namespace the sender is in
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == PLI_CONTROL_MSGS_PIDFD) {
            memcpy(&who.fd, CMSG_DATA(c), sizeof who.fd);
        }
    }
    msg.text[sizeof msg.text - 1] = '\0';
    hear(t, &msg, &who, own);
    close_all(own, N_OWN);
    close_all(&who.fd, 1);
    return true;
}

static void control_fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    listen_once((struct pli_proc_task *)((char *)watch - offsetof(struct pli_proc_task, control)),
                watch);
}

static void own_fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    struct pli_indirect_rank *g =
        (struct pli_indirect_rank *)((char *)watch - offsetof(struct pli_indirect_rank, control));
    listen_once(g->task, watch);
}

void pli_control_msgs_begin(struct pli_proc_task *t)
{
    t->control.fire = control_fire;
    pli_loop_watch(&t->control, EPOLLIN);
}

void pli_control_msgs_listen(struct pli_proc_task *t)
{
    while (listen_once(t, &t->control)) {
        // one packet each
    }
}

void pli_control_msgs_signal(struct pli_proc_task *t, int sig)
{
    for (struct pli_indirect_rank *g = t->indirect; g != NULL; g = g->next) {
        if (!g->is_over && g->watch.fd >= 0) {
            syscall(SYS_pidfd_send_signal, g->watch.fd, sig, NULL, 0);
        }
    }
}

void pli_control_msgs_kill(struct pli_proc_task *t, uint32_t row)
{
    for (struct pli_indirect_rank *g = t->indirect; g != NULL; g = g->next) {
        if (!g->is_over && g->watch.fd >= 0 && g->row == row) {
            syscall(SYS_pidfd_send_signal, g->watch.fd, SIGKILL, NULL, 0);
        }
    }
}

void pli_control_msgs_forget(struct pli_proc_task *t)
{
    while (t->indirect != NULL) {
        struct pli_indirect_rank *g = t->indirect;
        t->indirect = g->next;
        pli_loop_forget(&g->timer);
        free(g);
    }
}

bool pli_control_msgs_adopt(struct pli_proc_task *t, uint32_t row, pid_t pid)
{
    add_indirect(t, row, pid, -1, -1);
    return t->indirect != NULL;
}
