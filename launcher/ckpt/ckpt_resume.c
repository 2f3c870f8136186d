// SPDX-License-Identifier: BSD-3-Clause
// Listens on an abstract socket of mpiexec's own. A process that connects, says which row it is and
// is the process of that row gets the node memory; the connection is its control socket from then
// on.
#include "launcher/ckpt/ckpt_resume.h"

#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
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

// A process that has connected and not said which it is yet.
struct pli_ckpt_caller {
    struct pli_watch watch;       // first: the loop gets it
    struct pli_ckpt_caller *next; // of those that are over
};

static void one_less(struct pli_proc_task *t)
{
    bool *is_called =
        &pli_launcher.ckpt->resume.is_called[pli_job_slot(pli_launcher.ckpt->resume.job, t)];
    if (*is_called) {
        *is_called = false;
        if (--pli_launcher.ckpt->resume.n_called == 0) {
            pli_launcher.ckpt->resume.all_back(pli_launcher.ckpt->resume.job);
        }
    }
}

static bool give_accept_socket(const struct pli_proc_task *t, int fd)
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

// The memory and, where there is a network, a socket for incoming connections.
static bool give_back(const struct pli_proc_task *t, int fd)
{
    char byte = 0;
    return pli_fdpass_over(fd, &byte, 1, &pli_launcher.ckpt->resume.job->node_fd, 1,
                           MSG_DONTWAIT) == 1 &&
           (pli_launcher.ckpt->resume.is_held || give_accept_socket(t, fd));
}

void pli_ckpt_resume_hold(void)
{
    pli_launcher.ckpt->resume.is_held = true;
}

bool pli_ckpt_resume_is_held(void)
{
    return pli_launcher.ckpt->resume.is_held;
}

void pli_ckpt_resume_release(void)
{
    pli_launcher.ckpt->resume.is_held = false;
    for (struct pli_proc_task *t = pli_job_next(pli_launcher.ckpt->resume.job, NULL); t != NULL;
         t = pli_job_next(pli_launcher.ckpt->resume.job, t)) {
        if (!t->is_over && !give_accept_socket(t, t->control.fd)) {
            pli_say("rank %u did not get its accept socket: %s", t->rank, strerror(errno));
        }
    }
}

static struct pli_proc_task *task_of(uint32_t row, pid_t pid)
{
    for (struct pli_proc_task *t = pli_job_next(pli_launcher.ckpt->resume.job, NULL); t != NULL;
         t = pli_job_next(pli_launcher.ckpt->resume.job, t)) {
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
    struct pli_ckpt_caller *me = (struct pli_ckpt_caller *)w;
    pli_loop_close(w);
    me->next = pli_launcher.ckpt->resume.spare;
    pli_launcher.ckpt->resume.spare = me;
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
    struct pli_ckpt_caller *c = fd < 0 ? NULL
                                : pli_launcher.ckpt->resume.spare != NULL
                                    ? pli_launcher.ckpt->resume.spare
                                    : calloc(1, sizeof *c);
    if (c != NULL && c == pli_launcher.ckpt->resume.spare) {
        pli_launcher.ckpt->resume.spare = c->next;
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
    if (pli_launcher.ckpt->resume.listener.fd >= 0) {
        return true;
    }
    uint64_t random = 0;
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        random = (uint64_t)(uintptr_t)job;
    }
    int n =
        snprintf(pli_launcher.ckpt->resume.word.name, sizeof pli_launcher.ckpt->resume.word.name,
                 "pliant-back-%d-%016llx", (int)getpid(), (unsigned long long)random);
    memcpy(a.sun_path + 1, pli_launcher.ckpt->resume.word.name, (size_t)n);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    pli_launcher.ckpt->resume.job = job;
    pli_launcher.ckpt->resume.all_back = all_back;
    pli_launcher.ckpt->resume.is_called = calloc(job->n_first + job->node.header->n_more,
                                                 sizeof *pli_launcher.ckpt->resume.is_called);
    pli_launcher.ckpt->resume.listener.fire = listener_fire;
    pli_launcher.ckpt->resume.listener.fd =
        socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (pli_launcher.ckpt->resume.is_called == NULL || pli_launcher.ckpt->resume.listener.fd < 0 ||
        bind(pli_launcher.ckpt->resume.listener.fd, (struct sockaddr *)&a, len) != 0 ||
        listen(pli_launcher.ckpt->resume.listener.fd, 4096) != 0) {
        pli_say("checkpoints cannot be made: a socket cannot be had: %s", strerror(errno));
        return false;
    }
    return pli_loop_watch(&pli_launcher.ckpt->resume.listener, EPOLLIN);
}

void pli_ckpt_resume_call(struct pli_proc_task *t, int resume_fd)
{
    bool *is_called =
        &pli_launcher.ckpt->resume.is_called[pli_job_slot(pli_launcher.ckpt->resume.job, t)];
    pli_launcher.ckpt->resume.n_called += *is_called ? 0 : 1;
    *is_called = true;
    struct pli_freeze_word word = pli_launcher.ckpt->resume.word;
    word.row = t->first;
    ssize_t n = write(resume_fd, &word, sizeof word);
    (void)n; // a rank that is gone is noticed as such
    close(resume_fd);
}

void pli_ckpt_resume_gone(struct pli_proc_task *t)
{
    if (pli_launcher.ckpt->resume.job != NULL) {
        one_less(t);
    }
}
