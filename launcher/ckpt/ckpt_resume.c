// SPDX-License-Identifier: BSD-3-Clause
// Listens on an abstract socket of mpiexec's own. Who connects and says which row it is, and is the
// process of that row, gets the node memory; the connection is its control socket from then on.
#include "launcher/ckpt/ckpt_resume.h"

#include "launcher/base/accept.h"
#include "boot/ctl_wire.h"
#include "base/fdpass.h"
#include "ckpt/freeze_wire.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/control_msgs.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Somebody who has connected and not said who it is yet.
struct caller {
    struct pli_watch watch; // first: the loop gets it
    struct caller *next;    // of those that are over
};

static struct {
    struct pli_watch listener;
    struct pli_job *job;
    struct pli_freeze_word word;
    bool *is_called; // by slot
    uint32_t n_called;
    bool is_held; // nobody gets a door yet
    void (*all_back)(struct pli_job *job);
    struct caller *spare; // not freed: an event of this turn may name one
} b = { .listener = { .fd = -1 } };

static void one_less(struct pli_proc_task *t)
{
    bool *is_called = &b.is_called[pli_job_slot(b.job, t)];
    if (*is_called) {
        *is_called = false;
        if (--b.n_called == 0) {
            b.all_back(b.job);
        }
    }
}

static bool give_door(const struct pli_proc_task *t, int fd)
{
    char byte = 0;
    int ours = -1, theirs = -1;
    if (!pli_listener_pair(&ours, &theirs)) {
        return false;
    }
    bool is_given = theirs < 0 || pli_fdpass_over(fd, &byte, 1, &theirs, 1, MSG_DONTWAIT) == 1;
    if (theirs >= 0) {
        close(theirs);
        pli_listener_part(t->first);
        pli_listener_set(t->first, ours);
    }
    return is_given;
}

// The memory and, where there is a network, a door.
static bool give_back(const struct pli_proc_task *t, int fd)
{
    char byte = 0;
    return pli_fdpass_over(fd, &byte, 1, &b.job->node_fd, 1, MSG_DONTWAIT) == 1 &&
           (b.is_held || give_door(t, fd));
}

void pli_ckpt_resume_hold(void)
{
    b.is_held = true;
}

bool pli_ckpt_resume_is_held(void)
{
    return b.is_held;
}

void pli_ckpt_resume_let(void)
{
    b.is_held = false;
    for (struct pli_proc_task *t = pli_job_next(b.job, NULL); t != NULL;
         t = pli_job_next(b.job, t)) {
        if (!t->is_over && !give_door(t, t->control.fd)) {
            pli_say("rank %u did not get its door: %s", t->rank, strerror(errno));
        }
    }
}

static struct pli_proc_task *task_of(uint32_t row, pid_t pid)
{
    for (struct pli_proc_task *t = pli_job_next(b.job, NULL); t != NULL;
         t = pli_job_next(b.job, t)) {
        if (t->first == row && t->n == 1 && t->pid == pid && !t->is_over) {
            return t;
        }
    }
    return NULL;
}

static void caller_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct pli_ctl_msg msg = { 0 };
    struct ucred who = { 0 };
    socklen_t len = sizeof who;
    int fd = w->fd;
    ssize_t n = recv(fd, &msg, sizeof msg, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    struct pli_proc_task *t = n == (ssize_t)sizeof msg && msg.kind == PLI_CTL_BACK &&
                                      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
                                      who.uid == geteuid()
                                  ? task_of(msg.row, who.pid)
                                  : NULL;
    int keep = t != NULL ? dup(fd) : -1, yes = 1;
    struct caller *me = (struct caller *)w;
    pli_loop_close(w);
    me->next = b.spare;
    b.spare = me;
    if (t == NULL || keep < 0) {
        if (keep >= 0) {
            close(keep);
        }
        return;
    }
    pli_loop_close(&t->control);
    t->control.fd = keep;
    setsockopt(keep, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
    pli_control_msgs_begin(t);
    if (!give_back(t, keep)) {
        pli_say("rank %u did not get its memory back: %s", t->rank, strerror(errno));
    }
    one_less(t);
}

static void listener_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    int fd = pli_accept_own(w); // the name can be seen by every user of the host
    struct caller *c = fd < 0 ? NULL : b.spare != NULL ? b.spare : calloc(1, sizeof *c);
    if (c != NULL && c == b.spare) {
        b.spare = c->next;
    }
    if (c == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    c->watch = (struct pli_watch){ .fd = fd, .fire = caller_fire };
    pli_loop_watch(&c->watch, EPOLLIN);
}

bool pli_ckpt_resume_open(struct pli_job *job, void (*all_back)(struct pli_job *job))
{
    if (b.listener.fd >= 0) {
        return true;
    }
    uint64_t random = 0;
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        random = (uint64_t)(uintptr_t)job;
    }
    int n = snprintf(b.word.name, sizeof b.word.name, "pliant-back-%d-%016llx", (int)getpid(),
                     (unsigned long long)random);
    memcpy(a.sun_path + 1, b.word.name, (size_t)n);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    b.job = job;
    b.all_back = all_back;
    b.is_called = calloc(job->n_first + job->node.header->n_more, sizeof *b.is_called);
    b.listener.fire = listener_fire;
    b.listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (b.is_called == NULL || b.listener.fd < 0 ||
        bind(b.listener.fd, (struct sockaddr *)&a, len) != 0 || listen(b.listener.fd, 4096) != 0) {
        pli_say("checkpoints cannot be made: a socket cannot be had: %s", strerror(errno));
        return false;
    }
    return pli_loop_watch(&b.listener, EPOLLIN);
}

void pli_ckpt_resume_call(struct pli_proc_task *t, int rope)
{
    bool *is_called = &b.is_called[pli_job_slot(b.job, t)];
    b.n_called += *is_called ? 0 : 1;
    *is_called = true;
    struct pli_freeze_word word = b.word;
    word.row = t->first;
    ssize_t n = write(rope, &word, sizeof word);
    (void)n; // a rank that is gone is noticed as such
    close(rope);
}

void pli_ckpt_resume_gone(struct pli_proc_task *t)
{
    if (b.job != NULL) {
        one_less(t);
    }
}
