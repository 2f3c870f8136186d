// SPDX-License-Identifier: BSD-3-Clause
// Passes standard input on.
//
// When one rank gets it and it is no terminal, the rank inherits it: nothing is copied, and what
// the rank does not read stays for the next command of a script. A terminal is read by mpiexec,
// for the ranks are not in its foreground; and for several readers everything is copied.
#include "launcher/ranks/stdin.h"

#include "launcher/base/launcher.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { CAP = 64 * 1024, AGAIN_MS = 1000 };

struct pli_stdin_reader {
    struct pli_watch watch; // its pipe
    struct pli_stdin_reader *next;
    size_t done; // of what is held
    // On another host:
    struct pli_proc_task *task; // NULL: it is here
    pli_stdin_send_fn send;     // bytes to its host
    uint32_t credit;            // bytes it has room for
    bool is_open, is_ready;
    bool is_ending; // its end is to be told as soon as it is ready
};

static void source_fire(struct pli_watch *w, uint32_t events);
static void look_again(struct pli_timer *t);

static void move_on(void);

static bool is_open(const struct pli_stdin_reader *r)
{
    return r->task != NULL ? r->is_open : r->watch.fd >= 0;
}

static bool may_send(const struct pli_stdin_reader *r)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    return r->is_ready && r->task->host != self->still;
}

static void close_reader(struct pli_stdin_reader *r)
{
    pli_loop_close(&r->watch);
    if (r->task != NULL && r->is_open) {
        r->is_ending = !may_send(r);
        r->is_open = false;
        if (may_send(r)) {
            r->send(r->task, NULL, 0);
        }
    }
}

// No rank reads any more, or nothing is left to read.
static void stop(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    for (struct pli_stdin_reader *r = self->readers; r != NULL; r = r->next) {
        close_reader(r);
    }
    pli_loop_watch(&self->source, 0);
    self->source.fd = -1;
    free(self->held);
    self->held = NULL;
    self->held_len = 0;
}

static bool is_foreground(void)
{
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void look_again(struct pli_timer *t)
{
    (void)t;
    move_on();
}

// Read when all ranks have what was read before. False: there is nothing to read now.
static bool refill(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    if (!is_foreground()) {
        // Reading would stop mpiexec; the shell says nothing when it puts us in the foreground.
        pli_loop_watch(&self->source, 0);
        pli_loop_timer(&self->timer, (uint64_t)AGAIN_MS * PLI_MS);
        return false;
    }
    ssize_t n = read(STDIN_FILENO, self->held, CAP);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (n <= 0) {
        stop();
        return false;
    }
    self->held_len = (size_t)n;
    for (struct pli_stdin_reader *r = self->readers; r != NULL; r = r->next) {
        r->done = 0;
    }
    return true;
}

static bool give_remote(struct pli_stdin_reader *r)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    size_t n = self->held_len - r->done;
    n = n < r->credit ? n : r->credit;
    if (r->is_open && n > 0 && r->task->host != self->still) {
        r->send(r->task, self->held + r->done, n);
        r->done += n;
        r->credit -= (uint32_t)n;
    }
    return !r->is_open || r->done == self->held_len;
}

// Give the reader what it lacks. False: it has not got all yet.
static bool give(struct pli_stdin_reader *r)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    if (r->task != NULL) {
        return give_remote(r);
    }
    while (r->watch.fd >= 0 && r->done < self->held_len) {
        ssize_t n = write(r->watch.fd, self->held + r->done, self->held_len - r->done);
        if (n >= 0) {
            r->done += (size_t)n;
        } else if (errno == EAGAIN) {
            pli_loop_watch(&r->watch, EPOLLOUT);
            return false;
        } else if (errno != EINTR) {
            pli_loop_close(&r->watch); // it has closed its standard input, or is gone
        }
    }
    pli_loop_watch(&r->watch, 0);
    return true;
}

// Give every rank what is held. True when all have it and a rank wants more.
static bool give_all(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    bool is_done = true, has_reader = false;
    for (struct pli_stdin_reader *r = self->readers; r != NULL; r = r->next) {
        is_done &= give(r);
        has_reader |= is_open(r);
    }
    if (self->source.fd >= 0 && !has_reader) {
        stop();
    } else if (!is_done) {
        pli_loop_watch(&self->source, 0);
    }
    return is_done && has_reader && self->source.fd >= 0;
}

static void move_on(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    while (give_all()) {
        if (!is_foreground()) {
            pli_loop_timer(&self->timer, (uint64_t)AGAIN_MS * PLI_MS);
            return;
        }
        if (!self->is_file) {
            pli_loop_watch(&self->source, EPOLLIN);
            return;
        }
        if (!refill()) {
            return;
        }
    }
}

static void source_fire(struct pli_watch *w, uint32_t events)
{
    (void)w;
    (void)events;
    if (refill()) {
        move_on();
    }
}

static void reader_fire(struct pli_watch *w, uint32_t events)
{
    (void)w;
    (void)events;
    move_on();
}

static int add_reader(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    int fds[2];
    struct pli_stdin_reader *r = calloc(1, sizeof *r);
    if (r == NULL || pipe2(fds, O_CLOEXEC) != 0) {
        free(r);
        return -1;
    }
    if (fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0) {
        close(fds[0]);
        close(fds[1]);
        free(r);
        return -1;
    }
    r->watch = (struct pli_watch){ .fd = fds[1], .fire = reader_fire };
    r->next = self->readers;
    self->readers = r;
    return fds[0];
}

bool pli_stdin_is_fed(const struct pli_job *job, const struct pli_proc_task *task)
{
    int64_t to = job->opt.stdin_rank;
    return to == PLI_STDIN_ALL || (to >= task->rank && to < (int64_t)task->rank + task->n);
}

void pli_stdin_add_remote(const struct pli_job *job, struct pli_proc_task *task,
                          pli_stdin_send_fn send)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    struct pli_stdin_reader *r =
        pli_stdin_is_fed(job, task) ? pli_say_need(calloc(1, sizeof *r)) : NULL;
    if (r != NULL) {
        *r = (struct pli_stdin_reader){ .watch = { .fd = -1 },
                                        .next = self->readers,
                                        .task = task,
                                        .send = send,
                                        .is_open = true };
        self->readers = r;
    }
}

static void tell_end(struct pli_stdin_reader *r)
{
    if (r->task != NULL && r->is_ending && may_send(r)) {
        r->is_ending = false;
        r->send(r->task, NULL, 0);
    }
}

void pli_stdin_done(const struct pli_proc_task *task, uint32_t n)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    struct pli_stdin_reader *r = self->readers;
    while (r != NULL && r->task != task) {
        r = r->next;
    }
    if (r == NULL) {
        return;
    }
    r->credit += n;
    r->is_ready = true;
    if (n == 0) {
        r->is_open = false;
    } else {
        tell_end(r);
    }
    if (self->held != NULL) {
        move_on();
    }
}

void pli_stdin_hold(uint32_t host)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    self->still = host;
}

void pli_stdin_release(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    self->still = UINT32_MAX;
    for (struct pli_stdin_reader *r = self->readers; r != NULL; r = r->next) {
        tell_end(r);
    }
    if (self->held != NULL) {
        move_on();
    }
}

// A rank that is written to an image must have nothing of mpiexec's but the ends of pipes.
static bool may_inherit(const struct pli_job *job)
{
    return !isatty(STDIN_FILENO) && job->opt.ckpt_dir == NULL;
}

int pli_stdin_input(struct pli_job *job, struct pli_proc_task *task, int null_fd)
{
    int64_t to = job->opt.stdin_rank;
    if (task->is_spawned) {
        return null_fd;
    }
    if (to == PLI_STDIN_ALL) {
        return job->n_task == 1 && may_inherit(job) ? STDIN_FILENO : add_reader();
    }
    if (!pli_stdin_is_fed(job, task)) {
        return null_fd;
    }
    return may_inherit(job) ? STDIN_FILENO : add_reader();
}

void pli_stdin_started(struct pli_proc_task *task, int in, int null_fd)
{
    (void)task;
    if (in != null_fd && in != STDIN_FILENO && in >= 0) {
        close(in);
    }
}

void pli_stdin_begin(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    if (self->readers == NULL || self->source.fd < 0) {
        return;
    }
    if (self->held == NULL) {
        self->held = malloc(CAP);
        if (self->held == NULL) {
            pli_say("no memory to pass standard input on");
            stop();
            return;
        }
        self->is_file = !pli_loop_watch(&self->source, EPOLLIN);
    }
    move_on();
}

void pli_stdin_init(void)
{
    struct pli_stdin_state *self = pli_launcher.stdin;
    self->source = (struct pli_watch){ .fd = STDIN_FILENO, .fire = source_fire };
    self->timer.fire = look_again;
    self->still = UINT32_MAX;
}
