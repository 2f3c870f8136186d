// SPDX-License-Identifier: BSD-3-Clause
// What was removed gives no events although a copy of it is open, and an event that is late does
// not find what has its place now.
#include "base/epollset.h"

#include "t.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int ready(const struct pli_epollset *s, struct epoll_event *ev)
{
    return epoll_wait(pli_epollset_fd(s), ev, 4, 0);
}

static void forgets_what_was_removed(struct pli_epollset *s)
{
    struct epoll_event ev[4];
    uint64_t key = 0;
    int item, fd = eventfd(1, EFD_CLOEXEC), copy = dup(fd);
    T_OK(pli_epollset_watch(s, &key, fd, EPOLLIN, &item));
    T_MUST(ready(s, ev) == 1);
    T_OK(pli_epollset_find(s, ev[0].data.u64) == &item);
    T_OK(pli_epollset_watch(s, &key, fd, 0, &item));
    T_EQ(ready(s, ev), 0);
    T_OK(pli_epollset_watch(s, &key, fd, EPOLLIN, &item));
    T_EQ(ready(s, ev), 1);
    pli_epollset_remove(s, &key, fd);
    close(fd);
    T_EQ(ready(s, ev), 0); // the copy would give one
    T_OK(pli_epollset_find(s, ev[0].data.u64) == NULL);
    pli_epollset_remove(s, &key, fd); // once more
    T_EQ(key, 0);
    close(copy);
}

static void tells_turns_apart(struct pli_epollset *s)
{
    uint64_t key = 0;
    int first, second, fd = eventfd(1, EFD_CLOEXEC);
    T_OK(pli_epollset_watch(s, &key, fd, EPOLLIN, &first));
    uint64_t late = key;
    pli_epollset_remove(s, &key, fd);
    T_OK(pli_epollset_watch(s, &key, fd, EPOLLIN, &second));
    T_EQ((uint32_t)late, (uint32_t)key); // the same place
    T_OK(pli_epollset_find(s, late) == NULL);
    T_OK(pli_epollset_find(s, key) == &second);
    T_OK(pli_epollset_pause(s, key, fd));
    T_OK(pli_epollset_find(s, key) == &second);
    T_OK(pli_epollset_watch(s, &key, fd, EPOLLIN, &first)); // it has moved
    T_OK(pli_epollset_find(s, key) == &first);
    pli_epollset_remove(s, &key, fd);
    close(fd);
    T_OK(pli_epollset_find(s, 0) == NULL);
    T_OK(pli_epollset_find(s, UINT64_MAX) == NULL);
}

static void refuses_what_cannot_be_watched(struct pli_epollset *s)
{
    uint64_t key = 0;
    int item;
    T_OK(!pli_epollset_watch(s, &key, -1, EPOLLIN, &item));
    T_EQ(errno, EBADF);
    T_EQ(key, 0);
}

static void grows(struct pli_epollset *s)
{
    enum { MANY = 200 };
    uint64_t keys[MANY] = { 0 };
    int fds[MANY], items[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
        T_OK(pli_epollset_watch(s, &keys[i], fds[i], EPOLLIN, &items[i]));
    }
    for (int i = 0; i < MANY; i++) {
        T_OK(pli_epollset_find(s, keys[i]) == &items[i]);
        pli_epollset_remove(s, &keys[i], fds[i]);
        close(fds[i]);
    }
}

int main(void)
{
    struct pli_epollset *s = pli_epollset_create();
    T_MUST(s != NULL);
    forgets_what_was_removed(s);
    tells_turns_apart(s);
    refuses_what_cannot_be_watched(s);
    grows(s);
    pli_epollset_destroy(s);
    pli_epollset_destroy(NULL);
    return t_status();
}
