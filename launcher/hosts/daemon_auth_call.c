// SPDX-License-Identifier: BSD-3-Clause
// Calls a listener at all of its addresses at once, each with a handshake of its own. An address
// that is silent, or belongs to another host, does not delay the right one.
#include "base/glibc.h"
#include "base/clock.h"
#include "boot/address.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/base/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECT_MS = 5000, // while no address has even connected
    ANSWER_MS = 20000, // once one has: a listener with many callers takes its time
    AGAIN_MS = 100,    // after the listener hung up: it had no room for us
    N_ADDR = PLI_NODE_N_ADDR + 1
};

enum state { S_WAITING, S_CONNECTING, S_ASKING, S_OVER };

// One of the addresses.
struct attempt {
    const struct pli_node_addr *addr;
    enum state state;
    int fd;
    uint64_t again;   // S_WAITING: when to begin
    size_t len;       // of the reply
    const char *what; // has happened last
    struct pli_daemon_handshake h;
};

struct call {
    const struct pli_daemon_addr *place;
    struct pli_daemon_handshake_known known;
    uint32_t host;
    bool is_connected; // one was, at some time
    struct attempt tries[N_ADDR];
};

// This address is given up, or tried again later.
static void stop(struct attempt *a, const char *what, bool is_again)
{
    if (a->fd >= 0) {
        close(a->fd);
        a->fd = -1;
    }
    a->what = what;
    a->state = is_again ? S_WAITING : S_OVER;
    a->again = pli_clock_ns() + (uint64_t)AGAIN_MS * PLI_MS;
}

static void begin(struct call *c, struct attempt *a)
{
    struct sockaddr_storage to;
    socklen_t len = pli_address_fill(a->addr, c->place->port, &to);
    a->state = S_CONNECTING;
    a->len = 0;
    a->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (a->fd < 0 || (connect(a->fd, (struct sockaddr *)&to, len) != 0 && errno != EINPROGRESS)) {
        stop(a, strerrordesc_np(errno), false);
    }
}

static void say_hello(struct call *c, struct attempt *a)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        stop(a, strerrordesc_np(error), false);
        return;
    }
    c->is_connected = true;
    if (!pli_daemon_handshake_call(&a->h, &c->known, c->host, a->addr, c->place->port)) {
        stop(a, "this system gives no random numbers", false);
    } else if (send(a->fd, &a->h.hello, sizeof a->h.hello, MSG_NOSIGNAL) !=
               (ssize_t)sizeof a->h.hello) {
        stop(a, PLI_DAEMON_AUTH_HUNG_UP, true);
    } else {
        a->state = S_ASKING;
        a->what = PLI_DAEMON_AUTH_SILENT;
    }
}

// Whether it has answered, and is of our job.
static bool is_answered(struct call *c, struct attempt *a, struct pli_daemon_handshake_keys *keys)
{
    ssize_t n = recv(a->fd, (char *)&a->h.reply + a->len, sizeof a->h.reply - a->len, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (n <= 0) {
        bool is_refused = a->len == 1 && *(const char *)&a->h.reply == PLI_DAEMON_AUTH_NO;
        stop(a, is_refused ? PLI_DAEMON_AUTH_NOT_OURS : PLI_DAEMON_AUTH_HUNG_UP, !is_refused);
        return false;
    }
    a->len += (size_t)n;
    if (a->len < sizeof a->h.reply) {
        return false;
    }
    if (!pli_daemon_handshake_join(&a->h, &c->known, keys)) {
        stop(a, PLI_DAEMON_AUTH_NOT_OURS, false);
        return false;
    }
    if (send(a->fd, &a->h.join, sizeof a->h.join, MSG_NOSIGNAL) != (ssize_t)sizeof a->h.join) {
        stop(a, PLI_DAEMON_AUTH_HUNG_UP, true);
        return false;
    }
    return true;
}

// Begin what is due and fill in what is waited for. How long: ns, 0: there is nothing left to wait
// for.
static uint64_t prepare(struct call *c, struct pollfd *polls, uint64_t now, uint64_t until)
{
    uint64_t wait = 0;
    for (uint32_t i = 0; i < c->place->n_addr; i++) {
        struct attempt *a = &c->tries[i];
        if (a->state == S_WAITING && now >= a->again) {
            begin(c, a);
        }
        polls[i] = (struct pollfd){ a->fd, a->state == S_CONNECTING ? POLLOUT : POLLIN, 0 };
        uint64_t to = a->state == S_OVER                          ? now
                      : a->state == S_WAITING && a->again < until ? a->again
                                                                  : until;
        wait = to > now && (wait == 0 || to - now < wait) ? to - now : wait;
    }
    return wait;
}

// The first that has proved to be of the job; NULL: none did.
static struct attempt *find(struct call *c, struct pli_daemon_handshake_keys *keys)
{
    struct pollfd polls[N_ADDR];
    uint64_t start = pli_clock_ns(), now = start;
    for (;;) {
        uint64_t until = start + (uint64_t)(c->is_connected ? ANSWER_MS : CONNECT_MS) * PLI_MS;
        uint64_t wait = now < until ? prepare(c, polls, now, until) : 0;
        if (wait == 0) {
            return NULL;
        }
        int n = poll(polls, c->place->n_addr, (int)(wait / PLI_MS) + 1);
        for (uint32_t i = 0; n > 0 && i < c->place->n_addr; i++) {
            struct attempt *a = &c->tries[i];
            if (polls[i].revents == 0 || polls[i].fd < 0) {
                continue;
            }
            if (a->state == S_CONNECTING) {
                say_hello(c, a);
            } else if (a->state == S_ASKING && is_answered(c, a, keys)) {
                return a;
            }
        }
        now = pli_clock_ns();
    }
}

static void explain(const struct call *c, char *why, size_t cap)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->place->n_addr && n < cap; i++) {
        char text[PLI_ADDRESS_TEXT];
        const struct attempt *a = &c->tries[i];
        n += (size_t)snprintf(why + n, cap - n, "%s%s: %s", i > 0 ? "; " : "",
                              pli_address_text(a->addr, c->place->port, text),
                              a->what != NULL ? a->what : "no answer in 5 s");
    }
}

int pli_daemon_auth_call(const struct pli_daemon_addr *place, const unsigned char *secret,
                         uint32_t host, struct pli_daemon_handshake_keys *keys_out, char *why,
                         size_t cap)
{
    struct call c = { .place = place, .host = host };
    memcpy(c.known.secret, secret, sizeof c.known.secret);
    memcpy(c.known.id, place->id, sizeof c.known.id);
    // What is an address of this host too leads to a listener of this host.
    bool is_here = place->stack != 0 && place->stack == pli_address_stack();
    for (uint32_t i = 0; i < place->n_addr; i++) {
        c.tries[i] = (struct attempt){ .addr = &place->addr[i], .fd = -1 };
        if (!is_here && pli_address_is_own(&place->addr[i])) {
            stop(&c.tries[i], PLI_DAEMON_AUTH_OWN, false);
        }
    }
    struct attempt *found = find(&c, keys_out);
    int fd = found != NULL ? found->fd : -1;
    for (uint32_t i = 0; i < place->n_addr; i++) {
        if (c.tries[i].fd >= 0 && c.tries[i].fd != fd) {
            close(c.tries[i].fd);
        }
    }
    if (fd < 0) {
        explain(&c, why, cap);
    }
    explicit_bzero(&c.known, sizeof c.known);
    return fd;
}
