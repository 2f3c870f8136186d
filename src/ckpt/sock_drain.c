// SPDX-License-Identifier: BSD-3-Clause
// Drains and closes connections before a checkpoint. Each process writes a mark after what it has
// sent, shuts its end down, and reads until the end. A connection that the launcher has accepted
// but not passed on arrives through the accept socket meanwhile. When all processes have read all
// their connections, every connection attempt has been answered, and nothing more can come.
//
// All of it runs in a signal handler, with system calls and plain memory only.
#include "base/text.h"
#include "boot/accept_wire.h"
#include "base/fdpass.h"
#include "ckpt/sock.h"
#include "ckpt/sock_priv.h"
#include "ckpt/freeze_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PIECE = 64 * 1024,
    OURS = 2
}; // the resume pipe and the accept socket come before the connections

static struct pollfd *polls;
static size_t cap_polls;

// The descriptor to read from: the replacement, if the connection was drained before and the reader
// has not switched to it yet.
static int sock_of(const struct pli_sock_conn *e)
{
    return e->now >= 0 ? e->now : e->who.fd;
}

static void take_accepted(void)
{
    struct pli_accept_msg msg;
    int fd;
    while (pli_fdpass_take(pli_sock.boot->accept_fd, &msg, sizeof msg, &fd, MSG_DONTWAIT) > 0) {
        struct pli_caller c = { fd, msg.proc, msg.lane, msg.to_lane, msg.protect, { { 0 } } };
        memcpy(c.keys, &msg.keys, sizeof c.keys);
        struct pli_sock_conn *e = fd >= 0 ? pli_sock_add(&c, PLI_SOCK_CALLEE) : NULL;
        if (e == NULL) {
            close(fd);
            continue;
        }
        e->is_untaken = true;
        pli_sock.n_untaken++;
    }
}

static void write_mark(struct pli_sock_conn *e)
{
    const struct pli_sock_mark mark = { PLI_SOCK_MAGIC, pli_sock.boot->index, e->id };
    ssize_t n = send(sock_of(e), (const char *)&mark + e->n_mark, sizeof mark - e->n_mark,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    e->n_mark += n > 0 ? (uint32_t)n : 0;
    e->is_marked = n < 0 || e->n_mark == sizeof mark; // a broken connection takes no mark
    if (e->is_marked) {
        shutdown(sock_of(e), SHUT_WR);
    }
}

static void read_some(struct pli_sock_conn *e)
{
    while (!e->is_read) {
        if (!pli_sock_room(&e->kept, &e->cap, e->len + PIECE)) {
            e->is_read = e->is_over = true; // its reader will find it broken
            return;
        }
        ssize_t n = recv(sock_of(e), e->kept + e->len, PIECE, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        e->is_read = n <= 0;
        e->len += n > 0 ? (size_t)n : 0;
    }
}

static void begin(struct pli_sock_conn *e)
{
    if (e->is_pending) { // it was drained before
        e->is_marked = e->is_read = true;
        return;
    }
    e->is_marked = e->is_read = e->kind == PLI_SOCK_DIALED; // such a connection is started again
    e->is_over = false;
    e->n_mark = 0;
    e->id = 0;
    if (e->kind == PLI_SOCK_CALLER && getrandom(&e->id, sizeof e->id, 0) != (ssize_t)sizeof e->id) {
        e->id = ((uint64_t)pli_sock.boot->index << 32) + (uint64_t)e->who.fd;
    }
}

// Whether all connections were read to their end.
static bool look_once(uint32_t *n_begun, bool is_open)
{
    bool is_all = true;
    for (; *n_begun < pli_sock.n; ++*n_begun) {
        begin(&pli_sock.all[*n_begun]);
    }
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        struct pli_sock_conn *e = &pli_sock.all[i];
        if (!e->is_marked) {
            write_mark(e);
        }
        read_some(e);
        is_all = is_all && e->is_marked && e->is_read;
    }
    if (is_open) {
        take_accepted();
    }
    return is_all && *n_begun == pli_sock.n;
}

static bool wait_for_more(int resume_fd)
{
    if (!pli_sock_room(&polls, &cap_polls, (pli_sock.n + OURS) * sizeof *polls)) {
        return false;
    }
    polls[0] = (struct pollfd){ .fd = resume_fd, .events = POLLIN };
    polls[1] = (struct pollfd){ .fd = pli_sock.boot->accept_fd, .events = POLLIN };
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        const struct pli_sock_conn *e = &pli_sock.all[i];
        polls[OURS + i] = (struct pollfd){ .fd = e->is_read && e->is_marked ? -1 : sock_of(e),
                                           .events = (short)((e->is_read ? 0 : POLLIN) |
                                                             (e->is_marked ? 0 : POLLOUT)) };
    }
    poll(polls, pli_sock.n + OURS, -1);
    return true;
}

// The mark at the end of what was read; without one the other end is closed for good.
static void take_mark(struct pli_sock_conn *e)
{
    struct pli_sock_mark mark;
    if (e->kind == PLI_SOCK_DIALED || e->is_over || e->is_pending) {
        return;
    }
    e->is_over = true;
    if (e->len >= sizeof mark) {
        memcpy(&mark, e->kept + e->len - sizeof mark, sizeof mark);
        if (mark.magic == PLI_SOCK_MAGIC && mark.proc == e->who.proc) {
            e->is_over = false;
            e->len -= sizeof mark;
            e->id = e->kind == PLI_SOCK_CALLEE ? mark.id : e->id;
        }
    }
}

static bool is_ours(int fd)
{
    if (fd == pli_sock.boot->accept_fd) {
        return true;
    }
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        if (pli_sock.all[i].who.fd == fd) {
            return true;
        }
    }
    return false;
}

// "tfd:        8 events:       19 data:     7f0012345678  pos:0 ino:..." in what an epoll tells.
static void note_watch(int epoll, const char *line)
{
    if (strncmp(line, "tfd:", 4) != 0) {
        return;
    }
    char *s;
    int fd = (int)strtol(line + 4, &s, 10);
    s = strchr(s, ':');
    uint32_t events = s != NULL ? (uint32_t)strtoul(s + 1, &s, 16) : 0;
    s = s != NULL ? strchr(s, ':') : NULL;
    uint64_t data = s != NULL ? strtoull(s + 1, NULL, 16) : 0;
    if (s != NULL && is_ours(fd) &&
        pli_sock_room(&pli_sock.watches, &pli_sock.cap_watch,
                      (pli_sock.n_watch + 1) * sizeof *pli_sock.watches)) {
        pli_sock.watches[pli_sock.n_watch++] = (struct pli_sock_watch){ epoll, fd, events, data };
    }
}

static void note_epoll(const char *name)
{
    char path[64] = "/proc/self/fd/", info[64] = "/proc/self/fdinfo/", buf[4096];
    pli_text_add(path, sizeof path, name);
    pli_text_add(info, sizeof info, name);
    ssize_t n = readlink(path, buf, sizeof buf - 1), have = 0;
    buf[n > 0 ? n : 0] = '\0';
    if (strcmp(buf, "anon_inode:[eventpoll]") != 0) {
        return;
    }
    int fd = open(info, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, buf + have, sizeof buf - 1 - (size_t)have)) > 0) {
        have += n;
        buf[have] = '\0';
        char *line = buf;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            note_watch(atoi(name), line);
        }
        have -= line - buf;
        memmove(buf, line, (size_t)have);
    }
    if (fd >= 0) {
        close(fd);
    }
}

// Find the epoll instances that have our descriptors: the kernel drops them when they are replaced.
static void note_epolls(void)
{
    char buf[4096];
    pli_sock.n_watch = 0;
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long n; fd >= 0 && (n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0;) {
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const struct dirent64 *)(buf + at);
            note_epoll(d->d_name);
            at += d->d_reclen;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

// Remove them: a copy of the socket in another process would keep the old entry in the epoll.
static void unwatch_all(void)
{
    for (uint32_t i = 0; i < pli_sock.n_watch; i++) {
        epoll_ctl(pli_sock.watches[i].epoll, EPOLL_CTL_DEL, pli_sock.watches[i].fd, NULL);
    }
}

// The numbers stay in use, as a thread may be about to use one.
static bool replace_sockets(void)
{
    note_epolls();
    unwatch_all();
    int placeholder = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    bool is_good = placeholder >= 0 && dup3(placeholder, pli_sock.boot->accept_fd, O_CLOEXEC) >= 0;
    for (uint32_t i = 0; i < pli_sock.n && is_good; i++) {
        take_mark(&pli_sock.all[i]);
        struct pli_sock_conn *e = &pli_sock.all[i];
        if (e->now >= 0) {
            close(e->now);
            e->now = -1;
        }
        is_good = dup3(placeholder, e->who.fd, O_CLOEXEC) >= 0;
    }
    close(placeholder);
    return is_good;
}

bool pli_sock_drain(int resume_fd, bool (*tell)(void))
{
    uint32_t n_begun = 0;
    bool is_told = false, is_leaving = false;
    pli_sock.round++;
    for (;;) {
        bool is_all = look_once(&n_begun, true);
        if (is_all && is_leaving) {
            break;
        }
        if (is_all && !is_told && !tell()) {
            return false;
        }
        is_told = is_told || is_all;
        if (!wait_for_more(resume_fd)) {
            return false;
        }
        if (!is_leaving && polls[0].revents != 0) {
            struct pli_freeze_word w;
            is_leaving = read(resume_fd, &w, sizeof w) == (ssize_t)sizeof w;
            if (!is_leaving) {
                return false;
            }
        }
    }
    return replace_sockets();
}
