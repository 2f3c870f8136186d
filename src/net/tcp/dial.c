// SPDX-License-Identifier: BSD-3-Clause
// Connects to another process.
// One address after the other: connect, open, reply, join.
#include "net/tcp/dial.h"

#include "base/clock.h"
#include "base/nofile.h"
#include "boot/address.h"
#include "boot/handshake.h"
#include "ckpt/sock.h"
#include "ckpt/freeze_hold.h"
#include "msg/statistics_hooks.h"
#include "net/tcp/secure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h> // knows more of struct tcp_info than netinet/tcp.h
#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    TRIED = 400,
    NEAR_LEAST = 256 * 1024, // bytes to be under way to a host, at least,
    NEAR_MOST = 1024 * 1024, // and at most, before the kernel decides by itself how many
    NEAR_PER_US = 10240,     // and so many for each microsecond that an answer takes
    PAUSE_LEAST_MS = 20,     // before another try with one that was overrun with calls,
    PAUSE_MOST_MS = 2000,
    MOVING_MS = 10,        // between two looks at whether it is where it goes
    OVERRUN = 4,           // and for so many times the usual patience
    ABSENT_NS = 2000000000 // between two steps: the caller was elsewhere, and the other end gave up
};

enum state { S_CONNECTING, S_ASKING, S_PAUSED };

struct pli_dial {
    struct pli_dial_call call;
    enum state state;
    int fd;
    uint64_t until;
    uint64_t seen;      // the last step
    uint32_t round;     // see pli_sock_round
    bool is_stale;      // there was a long time between two steps with this connection
    bool is_dropped;    // the other end closed the connection before it knew this process
    uint64_t dropped;   // it did so for the first time
    uint32_t n_dropped; // how often it has
    int order[PLI_NODE_N_ADDR], n_addr, at; // addresses to try; the one being tried
    uint32_t n;                             // bytes of the reply so far
    struct pli_handshake_open open;
    struct pli_handshake_reply reply;
    struct pli_handshake_join join;
    char tried[TRIED]; // what failed, for people
};

// To a host near by few bytes are under way: more would only wait in the kernel's memory, and the
// larger that is the less of it is in a cache when it is read (bench: hosts_bw). It matters where
// the kernel's congestion control is BBR, and neither helps nor harms with Reno. How many fill a
// longer way is the kernel's to find out.
static void limit(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
        len < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt ||
        info.tcpi_min_rtt == 0 || info.tcpi_min_rtt > NEAR_MOST / NEAR_PER_US) {
        return;
    }
    int most = (int)info.tcpi_min_rtt * NEAR_PER_US;
    most = most < NEAR_LEAST ? NEAR_LEAST : most;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
}

enum pli_err pli_dial_tune(int fd, int timeout_s)
{
    int yes = 1, probe = timeout_s < 4 ? 1 : timeout_s / 4, n = timeout_s < 4 ? timeout_s : 3;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &probe, sizeof probe) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe, sizeof probe) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n, sizeof n) != 0) {
        // One that a checkpoint has ended is set up when its reader has what goes on for it.
        return pli_sock_is_moved(fd)
                   ? PLI_OK
                   : pli_fail(PLI_ERR_OTHER, "cannot set up a connection: %s", strerror(errno));
    }
    limit(fd);
    return PLI_OK;
}

void pli_dial_end(int fd)
{
    pli_sock_close(fd);
}

// The descriptor must not be watched any more when it is closed.
static void drop(struct pli_dial *d)
{
    if (d->fd >= 0) {
        if (d->call.unwatch != NULL) {
            d->call.unwatch(d->call.arg);
        }
        pli_sock_close(d->fd);
        d->fd = -1;
    }
}

static const struct pli_node_addr *addr_of(const struct pli_dial *d)
{
    return &d->call.there->addr[d->order[d->at]];
}

// Note why this address failed and give it up.
static void give_up(struct pli_dial *d, const char *why)
{
    char where[PLI_ADDRESS_TEXT];
    size_t len = strlen(d->tried);
    snprintf(d->tried + len, sizeof d->tried - len, "%s%s: %s", len > 0 ? "; " : "",
             pli_address_text(addr_of(d), d->call.port, where), why);
    drop(d);
    d->at++;
    d->n_dropped = 0;
    if (d->at < d->n_addr) {
        atomic_fetch_add(&pli_statistics_n_retry, 1);
    }
}

// A listener with too many callers closes some of their connections. They try again, later each
// time. False: it has done so for too long, or something else has failed.
static bool pause_calling(struct pli_dial *d, uint64_t now)
{
    d->dropped = d->n_dropped == 0 ? now : d->dropped;
    if (!d->is_dropped || now - d->dropped > OVERRUN * d->call.timeout_ns) {
        return false;
    }
    uint32_t ms = d->n_dropped < 7 ? (uint32_t)PAUSE_LEAST_MS << d->n_dropped : PAUSE_MOST_MS;
    ms += (d->call.from * 7919u) % ms; // not all at the same moment
    d->n_dropped++;
    atomic_fetch_add(&pli_statistics_n_retry, 1);
    drop(d);
    d->state = S_PAUSED;
    d->until = now + (uint64_t)ms * 1000000u;
    return true;
}

// What connect failed by; a firewall that says no does so in other words.
static const char *refusal(int error)
{
    return pli_nofile_is_why(error)            ? "Too many open files (see ulimit -n)"
           : error == EACCES || error == EPERM ? "Permission denied (a firewall?)"
           : error == EHOSTUNREACH             ? "No route to host (a firewall?)"
                                               : strerror(error);
}

// Whether all processes of that host are on their way to another one.
static bool is_moving(const struct pli_dial *d)
{
    return d->call.moving != NULL && atomic_load(d->call.moving) == d->call.host + 1;
}

// Begin with the next address that can be begun with at all, or when there is somebody at all.
// False: there is none.
static bool begin(struct pli_dial *d)
{
    if (is_moving(d)) {
        d->state = S_PAUSED;
        d->fd = -1;
        d->seen = pli_clock_ns();
        d->until = d->seen + (uint64_t)MOVING_MS * 1000000u;
        d->round = pli_sock_round();
        return true;
    }
    while (d->at < d->n_addr) {
        struct sockaddr_storage a;
        socklen_t len = pli_address_fill(addr_of(d), d->call.port, &a);
        d->state = S_CONNECTING;
        d->n = 0;
        d->seen = pli_clock_ns();
        d->until = d->seen + d->call.timeout_ns;
        d->is_stale = d->is_dropped = false;
        d->round = pli_sock_round();
        d->fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (d->fd >= 0) {
            pli_sock_dial(d->fd);
        }
        if (d->fd >= 0 &&
            (connect(d->fd, (struct sockaddr *)&a, len) == 0 || errno == EINPROGRESS)) {
            return true;
        }
        give_up(d, refusal(errno));
    }
    return false;
}

enum pli_err pli_dial_open(const struct pli_dial_call *call, struct pli_dial **out)
{
    struct pli_dial *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a connection");
    }
    d->call = *call;
    d->fd = -1;
    d->n_addr = pli_address_order(call->here, call->there, d->order);
    pli_freeze_hold();
    bool is_begun = begin(d);
    pli_freeze_let();
    if (!is_begun) {
        enum pli_err err =
            pli_fail(PLI_ERR_OTHER, "host %s cannot be reached: %s", call->there->name,
                     d->tried[0] != '\0' ? d->tried : "it has no address");
        pli_dial_close(d);
        return err;
    }
    *out = d;
    return PLI_OK;
}

void pli_dial_close(struct pli_dial *d)
{
    if (d != NULL && d->fd >= 0) {
        pli_sock_close(d->fd);
    }
    free(d);
}

int pli_dial_fd(const struct pli_dial *d)
{
    return d->fd;
}

uint32_t pli_dial_events(const struct pli_dial *d)
{
    return d->state == S_CONNECTING ? EPOLLOUT : EPOLLIN;
}

// Once it is connected to a process that may be busy there is no hurry.
static bool is_at_leisure(const struct pli_dial *d)
{
    return d->call.is_slow && d->state == S_ASKING;
}

uint64_t pli_dial_until(const struct pli_dial *d)
{
    return is_at_leisure(d) ? UINT64_MAX : d->until;
}

// A host that is gone is noticed although no timeout has passed: the handshake is all that can be
// under way, so that it is not taken means just that. 0: as ever.
static void set_limit(int fd, uint64_t ns)
{
    unsigned ms = (unsigned)(ns / 1000000);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

void pli_dial_keys(const struct pli_dial *d, unsigned char keys_out[2][32])
{
    struct pli_handshake_keys keys;
    pli_handshake_make_keys(d->call.secret, &d->open, &d->reply, &d->join, true, &keys);
    memcpy(keys_out, &keys, sizeof keys);
}

int pli_dial_take(struct pli_dial *d)
{
    int fd = d->fd;
    if (d->call.is_slow) {
        set_limit(fd, 0);
    }
    d->fd = -1;
    return fd;
}

// Whether the connection stands, and the opening was sent. NULL: yes.
static const char *open_up(struct pli_dial *d)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        return strerror(error != 0 ? error : errno);
    }
    int yes = 1;
    setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (d->call.is_slow) {
        pli_dial_tune(d->fd, (int)(d->call.timeout_ns / 1000000000u));
        set_limit(d->fd, d->call.timeout_ns);
    }
    if (pli_handshake_open(&d->open) != PLI_OK) {
        return "no random numbers";
    }
    ssize_t n = send(d->fd, &d->open, sizeof d->open, MSG_NOSIGNAL);
    d->is_dropped = n < 0 && (errno == EPIPE || errno == ECONNRESET);
    return n == (ssize_t)sizeof d->open ? NULL : "it does not take the greeting";
}

static bool has_ended(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

// The reply is complete: judge it and join. NULL: done.
static const char *join(struct pli_dial *d)
{
    struct pli_handshake_place there;
    pli_handshake_place_called(d->fd, &there);
    if (pli_handshake_check_reply(d->call.secret, &there, &d->open, &d->reply) != PLI_OK) {
        return pli_fail_take(NULL);
    }
    if (has_ended(d->fd)) { // what is sent now would be lost
        d->is_dropped = true;
        return "it closed the connection";
    }
    struct pli_handshake_join j = { .from = d->call.from,
                                    .to = d->call.to,
                                    .lane = d->call.lane,
                                    .to_lane = d->call.to_lane,
                                    .protect = pli_secure_level() };
    pli_handshake_join(d->call.secret, &there, &d->open, &d->reply, &j);
    if (send(d->fd, &j, sizeof j, MSG_NOSIGNAL) != (ssize_t)sizeof j) {
        return "it does not take the greeting";
    }
    d->join = j;
    pli_sock_join(d->fd, j.to, j.lane, j.to_lane);
    return NULL;
}

// One step with the address at hand. PLI_ERR_OTHER: it failed, *why_out says how.
static enum pli_err try_one(struct pli_dial *d, const char **why_out)
{
    if (d->state == S_CONNECTING) {
        struct sockaddr_storage a;
        socklen_t len = sizeof a;
        int error = 0;
        socklen_t error_len = sizeof error;
        getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
        if (error != 0) {
            *why_out = refusal(error);
            return PLI_ERR_OTHER;
        }
        if (getpeername(d->fd, (struct sockaddr *)&a, &len) != 0) {
            return PLI_AGAIN;
        }
        *why_out = open_up(d);
        d->state = S_ASKING;
        return *why_out == NULL ? PLI_AGAIN : PLI_ERR_OTHER;
    }
    ssize_t n = recv(d->fd, (char *)&d->reply + d->n, sizeof d->reply - d->n, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return PLI_AGAIN;
    }
    if (n <= 0) {
        *why_out = n == 0 ? "it closed the connection" : strerror(errno);
        d->is_dropped = n == 0 || errno == ECONNRESET;
        return PLI_ERR_OTHER;
    }
    d->n += (uint32_t)n;
    if (d->n < sizeof d->reply) {
        return PLI_AGAIN;
    }
    *why_out = join(d);
    return *why_out == NULL ? PLI_OK : PLI_ERR_OTHER;
}

// What an address that has failed failed by; NULL: it has not.
static const char *failure(struct pli_dial *d, enum pli_err *err, uint64_t now)
{
    const char *why = NULL;
    *err = try_one(d, &why);
    if (*err == PLI_AGAIN && now > d->until && !is_at_leisure(d)) {
        why = d->state == S_CONNECTING ? "no answer (a firewall?)"
                                       : "it connects but does not greet (a firewall, or mpiexec "
                                         "there is stuck)";
    }
    return *err == PLI_OK || (*err == PLI_AGAIN && why == NULL) ? NULL : why;
}

// A checkpoint has ended what was begun, and hosts may be other ones.
static void restart(struct pli_dial *d)
{
    drop(d);
    d->at = 0;
    d->n_dropped = 0;
    d->tried[0] = '\0';
    d->n_addr = pli_address_order(d->call.here, d->call.there, d->order);
    d->call.port = d->call.there->port;
}

static enum pli_err begin_or_fail(struct pli_dial *d)
{
    return begin(d) ? PLI_AGAIN
                    : pli_fail(PLI_ERR_OTHER, "host %s cannot be reached: %s", d->call.there->name,
                               d->tried);
}

// Context: the process is held, so that no checkpoint comes between a connection and its note.
static enum pli_err step(struct pli_dial *d)
{
    if (d->round != pli_sock_round()) {
        restart(d);
        return begin_or_fail(d);
    }
    // A program that computes for long between two MPI calls has not been waiting, and the other
    // end will not wait for it.
    uint64_t now = pli_clock_ns(), away = now - d->seen;
    if (away > ABSENT_NS) {
        d->until += away;
        d->is_stale = true;
    }
    d->seen = now;
    if (d->state == S_PAUSED) {
        return now < d->until ? PLI_AGAIN : begin_or_fail(d);
    }
    enum pli_err err;
    const char *why = failure(d, &err, now);
    if (why == NULL) {
        return err;
    }
    if (d->is_stale) {
        drop(d);
    } else if (pause_calling(d, now)) {
        return PLI_AGAIN;
    } else {
        give_up(d, why);
    }
    return begin_or_fail(d);
}

enum pli_err pli_dial_step(struct pli_dial *d)
{
    pli_freeze_hold();
    enum pli_err err = step(d);
    pli_freeze_let();
    return err;
}
