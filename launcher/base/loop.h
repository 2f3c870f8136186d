// SPDX-License-Identifier: BSD-3-Clause
// The one place where mpiexec waits: descriptors and timers.
#ifndef PLI_LAUNCHER_LOOP_H
#define PLI_LAUNCHER_LOOP_H

#include <stdbool.h>
#include <stdint.h>

// Lives inside the struct that owns the descriptor, and is closed before that ends.
struct pli_watch {
    int fd;       // -1: closed
    uint64_t key; // among what is waited for
    void (*fire)(struct pli_watch *w, uint32_t events);
};

struct pli_timer {
    uint64_t at; // pli_clock_ns; 0: off
    void (*fire)(struct pli_timer *t);
    struct pli_timer *next;
    bool is_listed;
};

enum { PLI_MS = 1000000 };

// False with a message: no epoll.
bool pli_loop_init(void);

// In a process that was forked and has closed the descriptors of its parent: a loop of its own.
bool pli_loop_begin_anew(void);

// Which EPOLL events are waited for.
uint32_t pli_loop_events(const struct pli_watch *w);

// Wait for these EPOLL events (0: for none). False: the descriptor cannot be waited for, because it
// is a regular file and always ready.
bool pli_loop_watch(struct pli_watch *w, uint32_t events);

// Stop waiting; the descriptor is the caller's from now on.
int pli_loop_release(struct pli_watch *w);

// Stop waiting and close the descriptor.
void pli_loop_close(struct pli_watch *w);

void pli_loop_timer(struct pli_timer *t, uint64_t from_now_ns);

// The timer is about to go away. Context: between two turns of the loop.
void pli_loop_forget(struct pli_timer *t);

// Whether a write would not block now.
bool pli_loop_writable(int fd);

// Handle what is ready; wait for it when there is nothing else to do.
void pli_loop_once(bool may_wait);

// So many milliseconds at most, until it is done.
void pli_loop_until(bool (*is_done)(void), uint64_t ms);

// What is waited for: pli_launcher.loop.
struct pli_loop_state {
    struct pli_epollset *set;
    struct pli_timer *timers;
};

#endif
