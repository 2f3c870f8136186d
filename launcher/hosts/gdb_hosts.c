// SPDX-License-Identifier: BSD-3-Clause
// Both sides have a list of the terminals. In mpiexec each stands for a terminal by a socket to the
// process that has the user's one; in a daemon it is the master's side of one. A program under gdb
// may print without end: no more than CREDIT bytes are on their way, or wait to be shown.
#include "launcher/hosts/gdb_hosts.h"

#include "launcher/base/launcher.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/hosts/head.h"
#include "launcher/job/job.h"
#include "launcher/ranks/gdb_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 0, DONE = 1, SIZE = 2, CREDIT = 64 * 1024, PIECE = 4096, LOOK_MS = 500 };

struct pli_gdb_terminal {
    struct pli_watch watch;
    struct pli_pack held; // bytes to be written to it
    uint32_t task, host;
    uint32_t n_under_way; // of a daemon: bytes that are not shown yet
    struct winsize size;  // as told
    int outer;            // in mpiexec: what the user sees
};

static struct pli_gdb_terminal *find(uint32_t task)
{
    const struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    for (uint32_t i = 0; i < self->n; i++) {
        if (self->terminals[i].task == task) {
            return &self->terminals[i];
        }
    }
    return NULL;
}

static void tell(const struct pli_gdb_terminal *t, uint16_t flag, const void *data, size_t len)
{
    if (pli_launcher.job->is_daemon) {
        pli_daemon_send(PLI_DLINK_TERMINAL, flag, t->task, data, len);
    } else {
        pli_head_send(t->host, PLI_DLINK_TERMINAL, flag, t->task, data, len);
    }
}

static void tell_done(const struct pli_gdb_terminal *t, uint32_t n)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, n);
    tell(t, DONE, p.data, p.len);
    pli_pack_fini(&p);
}

static void wait_for(struct pli_gdb_terminal *t)
{
    pli_loop_watch(&t->watch,
                   (t->n_under_way < CREDIT ? EPOLLIN : 0) | (t->held.len > 0 ? EPOLLOUT : 0));
}

static void write_some(struct pli_gdb_terminal *t)
{
    ssize_t n = t->watch.fd >= 0 ? write(t->watch.fd, t->held.data, t->held.len) : -1;
    if (n > 0) {
        memmove(t->held.data, t->held.data + n, t->held.len - (size_t)n);
        t->held.len -= (size_t)n;
        tell_done(t, (uint32_t)n);
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        t->held.len = 0; // gdb, or the user's terminal, is gone: the reading side tells
    }
}

static void fire(struct pli_watch *w, uint32_t events)
{
    struct pli_gdb_terminal *t = (struct pli_gdb_terminal *)w; // its first member
    char text[PIECE];
    if ((events & EPOLLOUT) != 0 && t->held.len > 0) {
        write_some(t);
    }
    if ((events & ~(uint32_t)EPOLLOUT) != 0) {
        ssize_t n = read(w->fd, text, sizeof text);
        if (n > 0) {
            t->n_under_way += (uint32_t)n;
            tell(t, BYTES, text, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            pli_loop_close(w);
            tell(t, BYTES, NULL, 0);
            return;
        }
    }
    wait_for(t);
}

static void add(uint32_t task, uint32_t host, int fd, int outer)
{
    struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    self->terminals[self->n++] = (struct pli_gdb_terminal){
        .watch = { .fd = fd, .fire = fire }, .task = task, .host = host, .outer = outer
    };
    wait_for(&self->terminals[self->n - 1]);
}

static void hear(const struct pli_dframe *f, struct pli_gdb_terminal *t)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    if (f->flag == DONE) {
        uint32_t n = pli_unpack_u32(&u);
        t->n_under_way -= n < t->n_under_way ? n : t->n_under_way;
    } else if (f->flag == SIZE) {
        struct winsize size = { .ws_row = (unsigned short)pli_unpack_u32(&u) };
        size.ws_col = (unsigned short)pli_unpack_u32(&u);
        ioctl(t->watch.fd, TIOCSWINSZ, &size);
    } else if (f->len == 0) {
        pli_loop_close(&t->watch);
    } else if (t->held.len + f->len <= CREDIT + PIECE) {
        pli_pack_bytes(&t->held, f->data, f->len);
        write_some(t);
    }
    if (t->watch.fd >= 0) {
        wait_for(t);
    }
}

// In mpiexec.

static void tell_sizes(struct pli_timer *timer)
{
    const struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    for (uint32_t i = 0; i < self->n; i++) {
        struct pli_gdb_terminal *t = &self->terminals[i];
        struct winsize now;
        if (ioctl(t->outer, TIOCGWINSZ, &now) == 0 &&
            (now.ws_row != t->size.ws_row || now.ws_col != t->size.ws_col)) {
            struct pli_pack p = { 0 };
            t->size = now;
            pli_pack_u32(&p, now.ws_row);
            pli_pack_u32(&p, now.ws_col);
            tell(t, SIZE, p.data, p.len);
            pli_pack_fini(&p);
        }
    }
    pli_loop_timer(timer, (uint64_t)LOOK_MS * PLI_MS);
}

bool pli_gdb_hosts_open(struct pli_job *job)
{
    struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    uint32_t n = pli_launcher.gdb_ranks->n;
    self->terminals = n > 0 ? pli_say_need(calloc(n, sizeof *self->terminals)) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct pli_gdb_rank *g = &pli_launcher.gdb_ranks->ranks[i];
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
            pli_say("--gdb: no terminal can be made for rank %u: %s", g->rank, strerror(errno));
            return false;
        }
        g->terminal = fds[0];
        g->far = fds[1];
    }
    if (!pli_gdb_ranks_show()) {
        return false;
    }
    for (uint32_t i = 0; i < job->n_task && n > 0; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (t->gdb != NULL) {
            add(t->number, t->host, t->gdb->far, t->gdb->outer);
        }
    }
    return true;
}

void pli_gdb_hosts_begin(void)
{
    struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    if (self->n > 0) {
        self->size_timer.fire = tell_sizes;
        tell_sizes(&self->size_timer);
    }
}

void pli_gdb_hosts_close(void)
{
    struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    for (uint32_t i = 0; i < self->n; i++) {
        pli_loop_close(&self->terminals[i].watch);
        if (self->terminals[i].outer != STDIN_FILENO) {
            close(self->terminals[i].outer);
        }
        pli_pack_fini(&self->terminals[i].held);
    }
    self->n = 0;
    pli_gdb_ranks_close();
}

bool pli_gdb_hosts_shown(uint32_t host, const struct pli_dframe *f)
{
    struct pli_gdb_terminal *t = f->kind == PLI_DLINK_TERMINAL ? find(f->a) : NULL;
    if (t != NULL && t->host == host) {
        hear(f, t);
    }
    return f->kind == PLI_DLINK_TERMINAL;
}

// In a daemon.

bool pli_gdb_hosts_serve(struct pli_job *job)
{
    struct pli_gdb_hosts_state *self = pli_launcher.gdb_hosts;
    uint32_t n = pli_launcher.gdb_ranks->n;
    if (n == 0) {
        return true;
    }
    self->terminals = pli_say_need(calloc(n, sizeof *self->terminals));
    if (!pli_gdb_ranks_open(job)) {
        return false;
    }
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (t->gdb != NULL) {
            add(t->number, job->here, t->gdb->terminal, -1);
        }
    }
    return true;
}

bool pli_gdb_hosts_typed(const struct pli_dframe *f)
{
    struct pli_gdb_terminal *t = f->kind == PLI_DLINK_TERMINAL ? find(f->a) : NULL;
    if (t != NULL) {
        hear(f, t);
    }
    return f->kind == PLI_DLINK_TERMINAL;
}
