// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes between pipes and the link to mpiexec.
#include "launcher/hosts/io_forward.h"

#include "launcher/base/launcher.h"
#include "launcher/hosts/daemon.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PIECE = 32 * 1024 };

// Standard input of one task.
struct pli_io_forward_input {
    struct pli_watch watch;
    struct pli_io_forward_input *next;
    struct pli_pack held;
    size_t done;
    size_t n_told; // bytes at the front that mpiexec takes for read already
    uint32_t task;
    bool is_ending;
};

static void send_out(const struct pli_output_lines *s, const void *data, size_t len)
{
    pli_daemon_send(PLI_DLINK_OUT, s->which, s->task, data, len);
}

// Send what is there and allowed; s->len counts what mpiexec has not taken yet.
static void move_on(struct pli_output_lines *s)
{
    static char buf[PIECE];
    for (bool is_more = true; is_more && !s->is_ended && s->len < PLI_DLINK_CREDIT;) {
        size_t want = PLI_DLINK_CREDIT - s->len;
        want = want < sizeof buf ? want : sizeof buf;
        want = want < s->left ? want : (size_t)s->left;
        ssize_t n = want > 0 ? read(s->watch.fd, buf, want) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            s->is_ended = s->left != UINT64_MAX; // another reader took what the process had left
            is_more = false;
        } else if (n <= 0) {
            s->is_ended = true;
        } else {
            send_out(s, buf, (size_t)n);
            s->len += (size_t)n;
            s->left -= s->left != UINT64_MAX ? (uint64_t)n : 0;
            is_more = s->left != UINT64_MAX; // other streams get their turn
        }
    }
    if (s->is_ended && !s->is_over) {
        s->is_over = true;
        send_out(s, NULL, 0);
        pli_loop_close(&s->watch);
    }
    pli_loop_watch(&s->watch, s->len < PLI_DLINK_CREDIT ? EPOLLIN : 0);
}

static void out_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    move_on((struct pli_output_lines *)w); // its first member
}

void pli_io_forward_open(struct pli_output_lines *s, int fd, uint32_t task, uint16_t which)
{
    *s = (struct pli_output_lines){
        .watch = { .fd = fd, .fire = out_fire }, .left = UINT64_MAX, .task = task, .which = which
    };
    pli_loop_watch(&s->watch, EPOLLIN);
}

void pli_io_forward_finish(struct pli_output_lines *s)
{
    if (s->watch.fd < 0 || s->is_ended || s->left != UINT64_MAX) {
        return;
    }
    int n = 0;
    s->left = ioctl(s->watch.fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
    move_on(s);
}

void pli_io_forward_credit(struct pli_output_lines *s, uint32_t n)
{
    s->len -= n < s->len ? n : s->len;
    if (!s->is_ended && s->watch.fd >= 0) {
        if (s->left != UINT64_MAX) {
            move_on(s); // at its end epoll is not asked
        } else {
            pli_loop_watch(&s->watch, EPOLLIN);
        }
    }
}

static void tell_done(const struct pli_io_forward_input *in, uint32_t n)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, n);
    pli_daemon_send(PLI_DLINK_IN_DONE, 0, in->task, p.data, p.len);
    pli_pack_fini(&p);
}

static void give(struct pli_io_forward_input *in)
{
    uint32_t given = 0;
    while (in->watch.fd >= 0 && in->done < in->held.len) {
        ssize_t n = write(in->watch.fd, in->held.data + in->done, in->held.len - in->done);
        if (n >= 0) {
            in->done += (size_t)n;
            given += (uint32_t)n;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            pli_loop_close(&in->watch); // it has closed its standard input, or is gone
            tell_done(in, 0);
            return;
        }
    }
    if (in->done == in->held.len) {
        in->done = in->held.len = 0;
    }
    uint32_t told = in->n_told < given ? (uint32_t)in->n_told : given;
    in->n_told -= told;
    if (given > told) {
        tell_done(in, given - told);
    }
    if (in->held.len == 0 && in->is_ending) {
        pli_loop_close(&in->watch);
    }
    pli_loop_watch(&in->watch, in->held.len > 0 ? EPOLLOUT : 0);
}

static void in_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    give((struct pli_io_forward_input *)w); // its first member
}

int pli_io_forward_input(const struct pli_proc_task *task)
{
    struct pli_io_forward_state *self = pli_launcher.io_forward;
    int fds[2];
    struct pli_io_forward_input *in = calloc(1, sizeof *in);
    if (in == NULL || pipe2(fds, O_CLOEXEC) != 0) {
        free(in);
        return -1;
    }
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    in->watch = (struct pli_watch){ .fd = fds[1], .fire = in_fire };
    in->task = task->number;
    in->next = self->inputs;
    self->inputs = in;
    tell_done(in, PLI_DLINK_CREDIT); // there is room now
    return fds[0];
}

static struct pli_io_forward_input *find(uint32_t task)
{
    struct pli_io_forward_state *self = pli_launcher.io_forward;
    struct pli_io_forward_input *in = self->inputs;
    while (in != NULL && in->task != task) {
        in = in->next;
    }
    return in;
}

void pli_io_forward_put(uint32_t task, const void *data, size_t len)
{
    struct pli_io_forward_input *in = find(task);
    if (in == NULL || in->watch.fd < 0 || len > PLI_DLINK_CREDIT) {
        return;
    }
    if (in->done > 0) {
        memmove(in->held.data, in->held.data + in->done, in->held.len - in->done);
        in->held.len -= in->done;
        in->done = 0;
    }
    in->is_ending |= len == 0;
    pli_pack_bytes(&in->held, data, len);
    give(in);
}

// A copy of what a process has not read of its standard input. It stays there.
static void pack_unread(pid_t pid, struct pli_pack *to)
{
    char path[64];
    int copy[2] = { -1, -1 };
    snprintf(path, sizeof path, "/proc/%d/fd/0", (int)pid);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int size = fd >= 0 ? fcntl(fd, F_GETPIPE_SZ) : -1;
    char *buf = size > 0 ? malloc((size_t)size) : NULL;
    if (buf != NULL && pipe2(copy, O_CLOEXEC | O_NONBLOCK) == 0) {
        fcntl(copy[1], F_SETPIPE_SZ, size);
        ssize_t n = tee(fd, copy[1], (size_t)size, SPLICE_F_NONBLOCK);
        for (n = n > 0 ? read(copy[0], buf, (size_t)size) : 0; n > 0;
             n = read(copy[0], buf, (size_t)size)) {
            pli_pack_bytes(to, buf, (size_t)n);
        }
        close(copy[0]);
        close(copy[1]);
    }
    free(buf);
    if (fd >= 0) {
        close(fd);
    }
}

void pli_io_forward_pack(const struct pli_job *job, struct pli_pack *to)
{
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        const struct pli_io_forward_input *in = t->is_over ? NULL : find(t->number);
        if (in != NULL) {
            struct pli_pack unread = { 0 };
            pack_unread(t->pid, &unread);
            size_t n_held = in->held.len - in->done;
            pli_pack_u32(to, t->number);
            pli_pack_u32(to, in->is_ending);
            pli_pack_u32(to, (uint32_t)(unread.len + in->n_told));
            pli_pack_u32(to, (uint32_t)(unread.len + n_held));
            pli_pack_bytes(to, unread.data, unread.len);
            pli_pack_bytes(to, in->held.data + in->done, n_held);
            pli_pack_fini(&unread);
        }
    }
}

void pli_io_forward_unpack(struct pli_unpack *from)
{
    while (from->at < from->end && !from->is_bad) {
        struct pli_io_forward_input *in = find(pli_unpack_u32(from));
        bool is_ending = pli_unpack_u32(from) != 0;
        uint32_t n_told = pli_unpack_u32(from), n = pli_unpack_u32(from);
        const void *bytes = pli_unpack_bytes(from, n);
        if (in != NULL && bytes != NULL) {
            pli_pack_bytes(&in->held, bytes, n);
            in->n_told = n_told;
            in->is_ending = is_ending;
            give(in);
        }
    }
}

bool pli_io_forward_is_drained(const struct pli_output_lines *s)
{
    int n = 0;
    return s->watch.fd < 0 || s->is_ended || (ioctl(s->watch.fd, FIONREAD, &n) == 0 && n == 0);
}
