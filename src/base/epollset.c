// SPDX-License-Identifier: BSD-3-Clause
// Keeps the watched descriptors in a table, whose index and turn are the key of an event.
// A table of places; those that are free form a list.
#include "base/epollset.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { LEAST = 16 };

struct place {
    void *item;      // NULL: it is free
    uint32_t turn;   // how often it was given back
    uint32_t next;   // the next free place + 1
    uint32_t events; // it is watched for
    bool is_in;      // the epoll has it
};

struct pli_epollset {
    int fd;
    struct place *places;
    uint32_t n, cap; // places that were ever used, and that there is room for
    uint32_t free;   // the first free place + 1, 0: none
};

struct pli_epollset *pli_epollset_create(void)
{
    struct pli_epollset *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->fd < 0) {
        int error = errno;
        free(s);
        errno = error;
        return NULL;
    }
    return s;
}

void pli_epollset_destroy(struct pli_epollset *s)
{
    if (s != NULL) {
        close(s->fd);
        free(s->places);
        free(s);
    }
}

int pli_epollset_fd(const struct pli_epollset *s)
{
    return s->fd;
}

// The place of a key; NULL: it was given back.
static struct place *place_of(const struct pli_epollset *s, uint64_t key)
{
    uint32_t at = (uint32_t)key;
    return at != 0 && at <= s->n && s->places[at - 1].turn == (uint32_t)(key >> 32)
               ? &s->places[at - 1]
               : NULL;
}

// A key has the number of its place, from 1 up, below its turn: no key is 0. 0: no memory.
static uint64_t take_place(struct pli_epollset *s)
{
    if (s->free == 0 && s->n == s->cap) {
        uint32_t cap = s->cap > 0 ? 2 * s->cap : LEAST;
        struct place *more = realloc(s->places, cap * sizeof *more);
        if (more == NULL) {
            return 0;
        }
        s->places = more;
        s->cap = cap;
    }
    uint32_t at = s->free;
    if (at != 0) {
        s->free = s->places[at - 1].next;
    } else {
        at = ++s->n;
        s->places[at - 1] = (struct place){ 0 };
    }
    return (uint64_t)s->places[at - 1].turn << 32 | at;
}

static void drop_place(struct pli_epollset *s, uint64_t *key)
{
    struct place *p = place_of(s, *key);
    if (p != NULL) {
        *p = (struct place){ .turn = p->turn + 1, .next = s->free };
        s->free = (uint32_t)*key;
    }
    *key = 0;
}

bool pli_epollset_watch(struct pli_epollset *s, uint64_t *key, int fd, uint32_t events, void *item)
{
    if (*key == 0) {
        *key = take_place(s);
    }
    struct place *p = place_of(s, *key);
    struct epoll_event ev = { .events = events, .data.u64 = *key };
    if (p == NULL) {
        errno = ENOMEM;
        return false;
    }
    if (epoll_ctl(s->fd, p->is_in ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) != 0) {
        if (!p->is_in) {
            drop_place(s, key);
        }
        return false;
    }
    p->item = item; // it may have moved
    p->is_in = true;
    p->events = events;
    return true;
}

bool pli_epollset_pause(struct pli_epollset *s, uint64_t key, int fd)
{
    struct place *p = place_of(s, key);
    if (p != NULL && p->is_in) {
        if (epoll_ctl(s->fd, EPOLL_CTL_DEL, fd, NULL) != 0) {
            return false;
        }
        p->is_in = false;
        p->events = 0;
    }
    return true;
}

void pli_epollset_remove(struct pli_epollset *s, uint64_t *key, int fd)
{
    pli_epollset_pause(s, *key, fd);
    drop_place(s, key);
}

void *pli_epollset_find(const struct pli_epollset *s, uint64_t key)
{
    const struct place *p = place_of(s, key);
    return p != NULL ? p->item : NULL;
}

uint32_t pli_epollset_events(const struct pli_epollset *s, uint64_t key)
{
    const struct place *p = place_of(s, key);
    return p != NULL ? p->events : 0;
}
