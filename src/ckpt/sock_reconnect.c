// SPDX-License-Identifier: BSD-3-Clause
// Restores connections after a checkpoint: the process that had connected connects once more, to
// the host where the other process is now, and sends the id of the connection. A process that is on
// its way to another host meanwhile is left out: its connections stay as they are until the next
// time. Runs in a signal handler, as sock_drain.c does.
#include "base/fd_wait.h"
#include "base/text.h"
#include "boot/address.h"
#include "boot/ckpt_wire.h"
#include "boot/accept_wire.h"
#include "boot/handshake.h"
#include "base/fdpass.h"
#include "ckpt/sock.h"
#include "ckpt/sock_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALL_MS = 10000, COME_MS = 60000 };

static bool send_all(int fd, const void *data, size_t len)
{
    return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len; // it fits an empty socket
}

static bool take_all(int fd, void *to, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pli_fd_wait_wait(fd, POLLIN, CALL_MS)
                        ? recv(fd, (char *)to + done, len - done, MSG_DONTWAIT)
                        : -1;
        if (n == 0) {
            errno = ECONNRESET;
        }
        if (n <= 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool do_handshake(int fd, const struct pli_sock_conn *e)
{
    const unsigned char *secret = pli_sock.boot->node.header->secret;
    struct pli_handshake_open open;
    struct pli_handshake_reply reply;
    struct pli_handshake_place there;
    struct pli_handshake_join join = { .from = pli_sock.boot->index,
                                       .to = e->who.proc,
                                       .lane = e->who.lane,
                                       .to_lane = e->who.to_lane,
                                       .is_again = 1 };
    const struct pli_sock_mark mark = { PLI_SOCK_MAGIC, pli_sock.boot->index, e->id };
    pli_handshake_place_called(fd, &there);
    if (pli_handshake_open(&open) != PLI_OK || !send_all(fd, &open, sizeof open) ||
        !take_all(fd, &reply, sizeof reply) ||
        pli_handshake_check_reply(secret, &there, &open, &reply) != PLI_OK) {
        return false;
    }
    pli_handshake_join(secret, &there, &open, &reply, &join);
    return send_all(fd, &join, sizeof join) && send_all(fd, &mark, sizeof mark);
}

static bool connect_to(int fd, const struct pli_node_addr *addr, uint16_t port)
{
    struct sockaddr_storage a;
    socklen_t len = pli_address_fill(addr, port, &a), error_len = sizeof(int);
    int error = 0;
    if (connect(fd, (struct sockaddr *)&a, len) != 0 &&
        (errno != EINPROGRESS || !pli_fd_wait_wait(fd, POLLOUT, CALL_MS))) {
        return false;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len) != 0 || error != 0) {
        errno = error;
        return false;
    }
    return true;
}

static bool call(struct pli_sock_conn *e)
{
    struct pli_node *node = &pli_sock.boot->node;
    const struct pli_node_proc *p = pli_node_find(node, e->who.proc);
    const struct pli_node_host *there = p != NULL ? &node->hosts[p->host] : NULL;
    int order[PLI_NODE_N_ADDR];
    errno = EHOSTUNREACH;
    int n = there != NULL ? pli_address_order(&node->hosts[pli_sock.boot->host], there, order) : 0;
    for (int i = 0; i < n && e->now < 0; i++) {
        const struct pli_node_addr *addr = &there->addr[order[i]];
        int fd = socket(addr->family == 4 ? AF_INET : AF_INET6,
                        SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect_to(fd, addr, there->port) && do_handshake(fd, e)) {
            e->now = fd;
        } else if (fd >= 0) {
            int error = errno;
            close(fd);
            errno = error;
        }
    }
    return e->now >= 0;
}

// A process has connected: for a connection that this process waits for, or a new one.
static bool come(void)
{
    struct pli_accept_msg msg;
    struct pli_sock_mark mark = { 0 };
    int fd;
    if (!pli_fd_wait_wait(pli_sock.boot->accept_fd, POLLIN, COME_MS)) {
        return false;
    }
    ssize_t n = pli_fdpass_take(pli_sock.boot->accept_fd, &msg, sizeof msg, &fd, MSG_DONTWAIT);
    if (n != (ssize_t)sizeof msg || fd < 0) {
        errno = n == 0 ? ECONNRESET : errno;
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if (msg.is_again == 0) {
        struct pli_caller c = { fd, msg.proc, msg.lane, msg.to_lane, msg.protect, { { 0 } } };
        memcpy(c.keys, &msg.keys, sizeof c.keys);
        struct pli_sock_conn *e = pli_sock_add(&c, PLI_SOCK_CALLEE);
        if (e != NULL) {
            e->is_untaken = true;
            pli_sock.n_untaken++;
        }
        return e != NULL;
    }
    bool is_good = take_all(fd, &mark, sizeof mark) && mark.magic == PLI_SOCK_MAGIC;
    for (uint32_t i = 0; i < pli_sock.n && is_good; i++) {
        struct pli_sock_conn *e = &pli_sock.all[i];
        if (e->kind == PLI_SOCK_CALLEE && e->id == mark.id && e->id != 0 && e->now < 0 &&
            e->who.proc == msg.proc) {
            e->now = fd;
            return true;
        }
    }
    close(fd);
    return true;
}

// A connection whose other end is closed: its reader reads what was kept, and then the end.
static bool end(struct pli_sock_conn *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        return false;
    }
    close(pair[1]);
    e->now = pair[0];
    return true;
}

static bool is_awaited(void)
{
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        const struct pli_sock_conn *e = &pli_sock.all[i];
        if (e->kind == PLI_SOCK_CALLEE && e->id != 0 && e->now < 0 && !e->is_pending) {
            return true;
        }
    }
    return false;
}

static bool is_pending(int fd)
{
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        if (pli_sock.all[i].who.fd == fd) {
            return pli_sock.all[i].is_pending;
        }
    }
    return false;
}

// What is pending is not ready for anything, and would be for writing.
static void watch_again(void)
{
    for (uint32_t i = 0; i < pli_sock.n_watch; i++) {
        const struct pli_sock_watch *w = &pli_sock.watches[i];
        uint32_t events = is_pending(w->fd) ? w->events & ~(uint32_t)EPOLLOUT : w->events;
        struct epoll_event ev = { .events = events, .data.u64 = w->data };
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->fd, &ev);
    }
}

static bool is_moving(const struct pli_sock_conn *e)
{
    const struct pli_node *node = &pli_sock.boot->node;
    uint32_t moving = atomic_load(pli_node_moving(node->header));
    const struct pli_node_proc *p = moving != 0 ? pli_node_find(node, e->who.proc) : NULL;
    return p != NULL && p->host + 1 == moving;
}

// Its number stays in use, by what is neither a socket nor ever ready to be read.
static bool put_off(struct pli_sock_conn *e)
{
    int quiet = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool is_good = quiet >= 0 && dup3(quiet, e->who.fd, O_CLOEXEC) >= 0;
    if (quiet >= 0) {
        close(quiet);
    }
    return is_good;
}

bool pli_sock_reconnect(int accept_fd, char *why, size_t cap)
{
    if (dup3(accept_fd, pli_sock.boot->accept_fd, O_CLOEXEC) < 0 || close(accept_fd) != 0) {
        pli_text_add(why, cap, "its accept socket cannot be used");
        return false;
    }
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        struct pli_sock_conn *e = &pli_sock.all[i];
        e->is_pending = e->kind != PLI_SOCK_DIALED && !e->is_over && is_moving(e);
        if (e->is_pending) {
            if (!put_off(e)) {
                pli_text_add(why, cap, "a descriptor cannot be had");
                return false;
            }
        } else if (e->kind != PLI_SOCK_DIALED && e->is_over) {
            e->id = 0;
            if (!end(e)) {
                pli_text_add(why, cap, "a socket cannot be had");
                return false;
            }
        } else if (e->kind == PLI_SOCK_CALLER && !call(e)) {
            pli_text_add(why, cap, "rank ");
            pli_text_add_number(why, cap, e->who.proc);
            pli_text_add(why, cap, " cannot be reached again");
            return false;
        }
    }
    while (is_awaited()) {
        if (!come()) {
            pli_text_add(why, cap, "not all ranks that were connected have called again");
            return false;
        }
    }
    watch_again();
    return true;
}
