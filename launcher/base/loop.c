// SPDX-License-Identifier: BSD-3-Clause
// epoll and a short list of timers.
#include "launcher/base/loop.h"

#include "launcher/base/launcher.h"
#include "base/clock.h"
#include "base/epollset.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH = 64, LOOK_MS = 100 };

bool pli_loop_init(void)
{
    struct pli_loop_state *self = pli_launcher.loop;
    self->set = pli_epollset_create();
    if (self->set == NULL) {
        pli_say("cannot wait for events: %s", strerror(errno));
    }
    return self->set != NULL;
}

bool pli_loop_begin_anew(void)
{
    pli_launcher.loop->timers = NULL;
    return pli_loop_init();
}

uint32_t pli_loop_events(const struct pli_watch *w)
{
    struct pli_loop_state *self = pli_launcher.loop;
    return pli_epollset_events(self->set, w->key);
}

bool pli_loop_watch(struct pli_watch *w, uint32_t events)
{
    struct pli_loop_state *self = pli_launcher.loop;
    if (w->fd < 0 || pli_loop_events(w) == events) {
        return true;
    }
    if (events == 0 ? !pli_epollset_pause(self->set, w->key, w->fd)
                    : !pli_epollset_watch(self->set, &w->key, w->fd, events, w)) {
        if (errno != EPERM) {
            pli_say("cannot wait for descriptor %d: %s", w->fd, strerror(errno));
        }
        return false;
    }
    return true;
}

int pli_loop_release(struct pli_watch *w)
{
    struct pli_loop_state *self = pli_launcher.loop;
    int fd = w->fd;
    if (fd >= 0) {
        pli_epollset_remove(self->set, &w->key, fd);
        w->fd = -1;
    }
    return fd;
}

void pli_loop_close(struct pli_watch *w)
{
    int fd = pli_loop_release(w);
    if (fd >= 0) {
        close(fd);
    }
}

void pli_loop_timer(struct pli_timer *t, uint64_t from_now_ns)
{
    struct pli_loop_state *self = pli_launcher.loop;
    t->at = pli_clock_ns() + from_now_ns;
    if (!t->is_listed) {
        t->is_listed = true;
        t->next = self->timers;
        self->timers = t;
    }
}

void pli_loop_forget(struct pli_timer *t)
{
    struct pli_loop_state *self = pli_launcher.loop;
    struct pli_timer **at = &self->timers;
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
    struct pli_loop_state *self = pli_launcher.loop;
    uint64_t now = pli_clock_ns();
    for (struct pli_timer *t = self->timers; t != NULL; t = t->next) {
        if (t->at != 0 && t->at <= now) {
            t->at = 0;
            t->fire(t);
        }
    }
}

static int patience_ms(void)
{
    struct pli_loop_state *self = pli_launcher.loop;
    uint64_t first = 0;
    for (struct pli_timer *t = self->timers; t != NULL; t = t->next) {
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
    struct pli_loop_state *self = pli_launcher.loop;
    struct epoll_event ready[BATCH];
    int n = epoll_wait(pli_epollset_fd(self->set), ready, BATCH, may_wait ? patience_ms() : 0);
    for (int i = 0; i < n; i++) {
        struct pli_watch *w = pli_epollset_find(self->set, ready[i].data.u64);
        if (w != NULL && w->fd >= 0 &&
            pli_loop_events(w) != 0) { // an earlier event may have closed it
            w->fire(w, ready[i].events);
        }
    }
    fire_timers();
}

static void wake(struct pli_timer *t)
{
    (void)t;
}

void pli_loop_until(bool (*is_done)(void), uint64_t ms)
{
    struct pli_timer t = { .fire = wake };
    uint64_t until = pli_clock_ns() + ms * PLI_MS;
    while (!is_done() && pli_clock_ns() < until) {
        pli_loop_timer(&t, (uint64_t)LOOK_MS * PLI_MS);
        pli_loop_once(true);
    }
    pli_loop_forget(&t);
}
