// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes between pipes and the link to mpiexec.
#include "pump.h"

#include "daemon.h"
#include "job.h"
#include "link.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PIECE = 32 * 1024 };

// Standard input of one task.
struct intake {
    struct pli_watch watch;
    struct intake *next;
    struct pli_pack held;
    size_t done;
    uint32_t task;
    bool is_ending;
};

static struct intake *intakes;

static void send_out(const struct pli_stream *s, const void *data, size_t len)
{
    pli_daemon_send(PLI_LINK_OUT, s->which, s->task, data, len);
}

// Send what is there and allowed; s->len counts what mpiexec has not taken yet.
static void move_on(struct pli_stream *s)
{
    static char buf[PIECE];
    for (bool is_more = true; is_more && !s->is_ended && s->len < PLI_LINK_CREDIT;) {
        size_t want = PLI_LINK_CREDIT - s->len;
        want = want < sizeof buf ? want : sizeof buf;
        want = want < s->left ? want : (size_t)s->left;
        ssize_t n = want > 0 ? read(s->watch.fd, buf, want) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            s->is_ended = s->left != UINT64_MAX; // someone else took what the process had left
            is_more = false;
        } else if (n <= 0) {
            s->is_ended = true;
        } else {
            send_out(s, buf, (size_t)n);
            s->len += (size_t)n;
            s->left -= s->left != UINT64_MAX ? (uint64_t)n : 0;
            is_more = s->left != UINT64_MAX; // others want their turn too
        }
    }
    if (s->is_ended && !s->is_over) {
        s->is_over = true;
        send_out(s, NULL, 0);
        pli_loop_close(&s->watch);
    }
    pli_loop_watch(&s->watch, s->len < PLI_LINK_CREDIT ? EPOLLIN : 0);
}

static void out_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    move_on((struct pli_stream *)w); // its first member
}

void pli_pump_open(struct pli_stream *s, int fd, uint32_t task, uint16_t which)
{
    *s = (struct pli_stream){
        .watch = { .fd = fd, .fire = out_fire }, .left = UINT64_MAX, .task = task, .which = which
    };
    pli_loop_watch(&s->watch, EPOLLIN);
}

void pli_pump_finish(struct pli_stream *s)
{
    if (s->watch.fd < 0 || s->is_ended || s->left != UINT64_MAX) {
        return;
    }
    int n = 0;
    s->left = ioctl(s->watch.fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
    move_on(s);
}

void pli_pump_credit(struct pli_stream *s, uint32_t n)
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

static void tell_done(const struct intake *in, uint32_t n)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, n);
    pli_daemon_send(PLI_LINK_IN_DONE, 0, in->task, p.data, p.len);
    pli_pack_fini(&p);
}

static void give(struct intake *in)
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
    if (given > 0) {
        tell_done(in, given);
    }
    if (in->held.len == 0 && in->is_ending) {
        pli_loop_close(&in->watch);
    }
    pli_loop_watch(&in->watch, in->held.len > 0 ? EPOLLOUT : 0);
}

static void in_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    give((struct intake *)w); // its first member
}

int pli_pump_input(const struct pli_task *task)
{
    int fds[2];
    struct intake *in = calloc(1, sizeof *in);
    if (in == NULL || pipe2(fds, O_CLOEXEC) != 0) {
        free(in);
        return -1;
    }
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    in->watch = (struct pli_watch){ .fd = fds[1], .fire = in_fire };
    in->task = task->number;
    in->next = intakes;
    intakes = in;
    tell_done(in, PLI_LINK_CREDIT); // there is room now
    return fds[0];
}

void pli_pump_put(uint32_t task, const void *data, size_t len)
{
    struct intake *in = intakes;
    while (in != NULL && in->task != task) {
        in = in->next;
    }
    if (in == NULL || in->watch.fd < 0 || len > PLI_LINK_CREDIT) {
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
