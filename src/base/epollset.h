// SPDX-License-Identifier: BSD-3-Clause
// An epoll and what is watched by it. The kernel keeps a descriptor in an epoll as long as any
// process has a copy of it, so the code that closes one removes it first. And epoll never bears a
// pointer: it bears the place of the watched item in a table and the turn of that place, so that an
// event which is late finds nothing instead of freed memory. Context: one thread at a time.
#ifndef PLI_BASE_EPOLLSET_H
#define PLI_BASE_EPOLLSET_H

#include <stdbool.h>
#include <stdint.h>

struct pli_epollset;

// NULL with errno.
struct pli_epollset *pli_epollset_create(void);
void pli_epollset_destroy(struct pli_epollset *s);
int pli_epollset_fd(const struct pli_epollset *s); // of the epoll

// Watch a descriptor for these EPOLL events, from now on or other ones than before. `item` is what
// pli_epollset_find gives for its events; *key, 0 at first, is its key here. False with errno.
bool pli_epollset_watch(struct pli_epollset *s, uint64_t *key, int fd, uint32_t events, void *item);
// Watch it no more for a while. Its key stays. False: that cannot be done.
bool pli_epollset_pause(struct pli_epollset *s, uint64_t key, int fd);
// Watch it no more: before it is closed, or becomes something else. 0 is fine, and *key is 0 then.
void pli_epollset_remove(struct pli_epollset *s, uint64_t *key, int fd);

// The item that an event with this key is about; NULL: it has been removed since.
void *pli_epollset_find(const struct pli_epollset *s, uint64_t key);
// What it is watched for, 0: nothing, or it is paused.
uint32_t pli_epollset_events(const struct pli_epollset *s, uint64_t key);

#endif
