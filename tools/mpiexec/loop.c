// SPDX-License-Identifier: BSD-3-Clause
// epoll and a short list of timers.
#include "loop.h"

#include "base/clock.h"
#include "say.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH = 64 };

static int epoll_fd = -1;
static struct pli_timer *timers;

bool pli_loop_init(void)
{
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) {
        pli_say("cannot wait for events: %s", strerror(errno));
    }
    return epoll_fd >= 0;
}

bool pli_loop_watch(struct pli_watch *w, uint32_t events)
{
    if (w->fd < 0 || w->events == events) {
        return true;
    }
    struct epoll_event e = { .events = events, .data.ptr = w };
    int op = w->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    if (epoll_ctl(epoll_fd, op, w->fd, &e) != 0) {
        if (errno != EPERM) {
            pli_say("cannot wait for descriptor %d: %s", w->fd, strerror(errno));
        }
        return false;
    }
    w->events = events;
    return true;
}

void pli_loop_close(struct pli_watch *w)
{
    if (w->fd >= 0) {
        pli_loop_watch(w, 0); // by hand: a copy of it in another process would keep it in epoll
        close(w->fd);
        w->fd = -1;
    }
}

void pli_loop_timer(struct pli_timer *t, uint64_t from_now_ns)
{
    t->at = pli_clock_ns() + from_now_ns;
    if (!t->is_listed) {
        t->is_listed = true;
        t->next = timers;
        timers = t;
    }
}

void pli_loop_forget(struct pli_timer *t)
{
    struct pli_timer **at = &timers;
    while (*at != NULL && *at != t) {
        at = &(*at)->next;
    }
    if (*at == t) {
        *at = t->next;
        t->is_listed = false;
    }
}

static void fire_timers(void)
{
    uint64_t now = pli_clock_ns();
    for (struct pli_timer *t = timers; t != NULL; t = t->next) {
        if (t->at != 0 && t->at <= now) {
            t->at = 0;
            t->fire(t);
        }
    }
}

static int patience_ms(void)
{
    uint64_t first = 0;
    for (struct pli_timer *t = timers; t != NULL; t = t->next) {
        if (t->at != 0 && (first == 0 || t->at < first)) {
            first = t->at;
        }
    }
    if (first == 0) {
        return -1;
    }
    uint64_t now = pli_clock_ns();
    uint64_t ms = first <= now ? 0 : (first - now + PLI_MS - 1) / PLI_MS;
    return ms > 1000000000 ? 1000000000 : (int)ms;
}

bool pli_loop_writable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    return poll(&p, 1, 0) == 1;
}

void pli_loop_once(bool may_wait)
{
    struct epoll_event ready[BATCH];
    int n = epoll_wait(epoll_fd, ready, BATCH, may_wait ? patience_ms() : 0);
    for (int i = 0; i < n; i++) {
        struct pli_watch *w = ready[i].data.ptr;
        if (w->fd >= 0 && w->events != 0) { // an earlier event may have closed it
            w->fire(w, ready[i].events);
        }
    }
    fire_timers();
}
