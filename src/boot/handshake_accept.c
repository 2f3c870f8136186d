// SPDX-License-Identifier: BSD-3-Clause
// Goes through the listener's side of the handshake.
// Reads exactly the bytes of the handshake: what follows is for the process that was called.
#include "boot/handshake_accept.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum { N_NUMBER = 509 };

bool pli_handshake_accept_accept(int listener, struct pli_handshake_accept *out)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    int fd = accept4(listener, (struct sockaddr *)&a, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    *out = (struct pli_handshake_accept){ .fd = fd, .since = pli_clock_ns() };
    if (a.ss_family == AF_INET6) {
        memcpy(out->from, &((struct sockaddr_in6 *)&a)->sin6_addr, sizeof out->from);
    } else if (a.ss_family == AF_INET) {
        out->from[10] = out->from[11] = 0xff;
        memcpy(out->from + 12, &((struct sockaddr_in *)&a)->sin_addr, 4);
    }
    return true;
}

static struct pli_handshake_accept *at(struct pli_handshake_accept *first, size_t step, int i)
{
    return (struct pli_handshake_accept *)((char *)first + step * (size_t)i);
}

// Addresses with the same number are counted together, which does little harm.
static unsigned number(const struct pli_handshake_accept *s)
{
    unsigned h = 0;
    for (size_t i = 0; i < sizeof s->from; i++) {
        h = h * 31 + s->from[i];
    }
    return h % N_NUMBER;
}

// What it has sent is still to be looked at: its proof, perhaps, and messages behind that.
static bool has_unread(const struct pli_handshake_accept *s)
{
    char byte;
    return recv(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static bool may_go(const struct pli_handshake_accept *s, uint64_t now)
{
    bool is_late = now - s->since > (uint64_t)PLI_HANDSHAKE_ACCEPT_ROUND_MS * 1000000u;
    return (!s->is_asked || is_late) && !has_unread(s);
}

// Whether `a` makes room rather than `b`.
static bool is_weaker(const struct pli_handshake_accept *a, const struct pli_handshake_accept *b,
                      const uint16_t *n_from)
{
    if (a->is_asked != b->is_asked) {
        return b->is_asked;
    }
    unsigned n_a = n_from[number(a)], n_b = n_from[number(b)];
    return n_a != n_b ? n_a > n_b : a->since < b->since;
}

struct pli_handshake_accept *pli_handshake_accept_room(struct pli_handshake_accept *first,
                                                       size_t step, int n)
{
    uint16_t n_from[N_NUMBER] = { 0 };
    for (int i = 0; i < n; i++) {
        struct pli_handshake_accept *s = at(first, step, i);
        if (s->fd < 0) {
            return s;
        }
        n_from[number(s)]++;
    }
    uint64_t now = pli_clock_ns();
    struct pli_handshake_accept *weakest = NULL;
    for (int i = 0; i < n; i++) {
        struct pli_handshake_accept *s = at(first, step, i);
        if ((weakest == NULL || is_weaker(s, weakest, n_from)) && may_go(s, now)) {
            weakest = s;
        }
    }
    return weakest;
}

// Read what is still missing of a message. PLI_OK: it is complete.
static enum pli_err hear(struct pli_handshake_accept *s, void *to, size_t size)
{
    ssize_t n = recv(s->fd, (char *)to + s->n, size - s->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return PLI_AGAIN;
    }
    if (n <= 0) {
        return PLI_ERR_OTHER;
    }
    s->n += (uint32_t)n;
    if (s->n < size) {
        return PLI_AGAIN;
    }
    s->n = 0;
    return PLI_OK;
}

static enum pli_err answer(struct pli_handshake_accept *s, const unsigned char *secret)
{
    // The answer fits an empty socket, or the caller is no good. A caller of another version gets
    // it too, without a hash, so that he can say so.
    struct pli_handshake_place here;
    pli_handshake_place_here(s->fd, &here);
    enum pli_err err = pli_handshake_reply(secret, &here, &s->open, &s->reply);
    pli_fail_take(NULL);
    ssize_t n = send(s->fd, &s->reply, sizeof s->reply, MSG_DONTWAIT | MSG_NOSIGNAL);
    s->is_asked = true;
    return err == PLI_OK && n == (ssize_t)sizeof s->reply ? PLI_AGAIN : PLI_ERR_OTHER;
}

enum pli_err pli_handshake_accept_step(struct pli_handshake_accept *s, const unsigned char *secret)
{
    if (!s->is_asked) {
        enum pli_err err = hear(s, &s->open, sizeof s->open);
        return err == PLI_OK ? answer(s, secret) : err;
    }
    enum pli_err err = hear(s, &s->join, sizeof s->join);
    struct pli_handshake_place here;
    pli_handshake_place_here(s->fd, &here);
    if (err == PLI_OK && !pli_handshake_check_join(secret, &here, &s->open, &s->reply, &s->join)) {
        err = PLI_ERR_OTHER;
    }
    return err;
}
