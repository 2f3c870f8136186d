// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives frames over a socket that never blocks, each sealed under the keys of the
// connection.
#include "launcher/hosts/dlink.h"

#include "launcher/hosts/daemon_handshake.h"
#include "launcher/base/say.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 256 * 1024, IDLE_S = 2, PROBES = 4, SILENCE_MS = 6000 };

static void lose(struct pli_dlink *l, const char *why)
{
    pli_dlink_close(l);
    l->lost(l, why);
}

void pli_dlink_close(struct pli_dlink *l)
{
    pli_loop_close(&l->watch);
    pli_protect_fini(&l->seal);
    pli_protect_fini(&l->open);
}

static void write_some(struct pli_dlink *l)
{
    while (l->watch.fd >= 0 && l->out.len > l->out_head) {
        ssize_t n = send(l->watch.fd, l->out.data + l->out_head, l->out.len - l->out_head,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno != EAGAIN) {
            return; // the reading side learns of it, and is the one to tell
        }
        if (n < 0) {
            break;
        }
        l->out_head += (size_t)n;
    }
    if (l->out_head == l->out.len) {
        l->out_head = l->out.len = 0;
    }
    pli_loop_watch(&l->watch, EPOLLIN | (l->out.len > 0 ? EPOLLOUT : 0));
}

// Append one record: these bytes, sealed, and the tag.
static void put(struct pli_dlink *l, const void *data, size_t len)
{
    unsigned char tag[PLI_PROTECT_TAG];
    size_t at = l->out.len;
    pli_pack_bytes(&l->out, data, len);
    if (!pli_protect_seal(&l->seal, NULL, 0, l->out.data + at, len, tag)) {
        shutdown(l->watch.fd, SHUT_RDWR); // the reading side learns of it
    }
    pli_pack_bytes(&l->out, tag, sizeof tag);
}

void pli_dlink_send(struct pli_dlink *l, const struct pli_dframe *f)
{
    if (l->watch.fd < 0) {
        return;
    }
    if (l->out_head > PIECE && l->out_head > l->out.len / 2) {
        memmove(l->out.data, l->out.data + l->out_head, l->out.len - l->out_head);
        l->out.len -= l->out_head;
        l->out_head = 0;
    }
    struct pli_dlink_head head = { .len = htole32((uint32_t)f->len),
                                   .kind = htole16(f->kind),
                                   .flag = htole16(f->flag),
                                   .host = htole32(f->host),
                                   .a = htole32(f->a) };
    bool was_empty = l->out.len == 0;
    put(l, &head, sizeof head);
    if (f->len > 0) {
        put(l, f->data, f->len);
    }
    if (was_empty) {
        write_some(l);
    }
}

void pli_dlink_drain(struct pli_dlink *l, int ms)
{
    while (l->watch.fd >= 0 && l->out.len > 0) {
        struct pollfd p = { .fd = l->watch.fd, .events = POLLOUT };
        if (poll(&p, 1, ms) <= 0 || (p.revents & (POLLERR | POLLHUP)) != 0) {
            return;
        }
        write_some(l);
    }
}

// Take the next record of this length, in place. NULL: it is not complete, or the link is gone.
static unsigned char *take(struct pli_dlink *l, size_t *at, size_t len)
{
    unsigned char *data = l->in.data + *at;
    if (l->in.len - *at < len + PLI_PROTECT_TAG) {
        return NULL;
    }
    if (!pli_protect_open(&l->open, NULL, 0, data, len, data + len)) {
        struct pli_dframe f = { .kind = PLI_DLINK_ALTERED };
        pli_dlink_send(l, &f); // the other way may be whole
        lose(l, "what came over its connection is not what it sent; a system between the two hosts "
                "altered, repeated, left out or added something");
        return NULL;
    }
    *at += len + PLI_PROTECT_TAG;
    return data;
}

// The head of the next frame. False: it is not complete, or the link is gone.
static bool take_head(struct pli_dlink *l, size_t *at)
{
    const unsigned char *data = l->has_head ? NULL : take(l, at, sizeof l->head);
    if (data != NULL) {
        memcpy(&l->head, data, sizeof l->head);
        l->has_head = true;
        if (le32toh(l->head.len) > PLI_DLINK_LEN) {
            lose(l, "it sent something that makes no sense");
        }
    }
    return l->has_head && l->watch.fd >= 0;
}

// Hand out the frames that are complete.
static void parse(struct pli_dlink *l)
{
    size_t at = 0;
    while (l->watch.fd >= 0 && take_head(l, &at)) {
        size_t len = le32toh(l->head.len);
        // A frame without a body has a place all the same: code that copies it needs no test.
        const unsigned char *data = len > 0 ? take(l, &at, len) : (unsigned char *)l->in.data;
        if (data == NULL) {
            break;
        }
        struct pli_dframe f = { .kind = le16toh(l->head.kind),
                                .flag = le16toh(l->head.flag),
                                .host = le32toh(l->head.host),
                                .a = le32toh(l->head.a),
                                .data = data,
                                .len = len };
        l->has_head = false;
        if (f.kind == PLI_DLINK_ALTERED) {
            lose(l, "what was sent to it is not what came there; a system between the two hosts "
                    "altered, repeated, left out or added something");
            break;
        }
        l->hear(l, &f);
    }
    if (l->watch.fd < 0) {
        return; // what is left is of no use
    }
    memmove(l->in.data, l->in.data + at, l->in.len - at);
    l->in.len -= at;
}

static void read_some(struct pli_dlink *l)
{
    if (l->in.cap - l->in.len < PIECE) {
        l->in.cap = l->in.len + 2 * PIECE;
        l->in.data = pli_say_need(realloc(l->in.data, l->in.cap));
    }
    ssize_t n = recv(l->watch.fd, l->in.data + l->in.len, l->in.cap - l->in.len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        lose(l, n == 0               ? "the connection was closed"
                : errno == ETIMEDOUT ? "it does not answer any more"
                                     : strerror(errno));
        return;
    }
    l->in.len += (size_t)n;
    parse(l);
}

static void fire(struct pli_watch *w, uint32_t events)
{
    struct pli_dlink *l = (struct pli_dlink *)w; // its first member
    if ((events & EPOLLOUT) != 0) {
        write_some(l);
    }
    if ((events & ~(uint32_t)EPOLLOUT) != 0 && l->watch.fd >= 0) {
        read_some(l);
    }
}

void pli_dlink_open(struct pli_dlink *l, int fd, const struct pli_daemon_handshake_keys *keys)
{
    // Without these a host that vanished would be waited for during hours.
    const struct {
        int level, name, value;
    } wanted[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S },
        { IPPROTO_TCP, TCP_KEEPINTVL, 1 },
        { IPPROTO_TCP, TCP_KEEPCNT, PROBES },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, SILENCE_MS },
        { IPPROTO_TCP, TCP_NODELAY, 1 },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        setsockopt(fd, wanted[i].level, wanted[i].name, &wanted[i].value, sizeof(int));
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    l->watch = (struct pli_watch){ .fd = fd, .fire = fire };
    l->in.len = l->out.len = l->out_head = 0;
    l->has_head = false;
    pli_say_need(pli_protect_init(&l->seal, keys->suite, keys->send, true) == PLI_OK ? l : NULL);
    pli_say_need(pli_protect_init(&l->open, keys->suite, keys->receive, false) == PLI_OK ? l
                                                                                         : NULL);
    pli_loop_watch(&l->watch, EPOLLIN);
}

void pli_dlink_hand(struct pli_dlink *to, struct pli_dlink *from)
{
    uint32_t events = pli_loop_events(&from->watch);
    pli_loop_watch(&from->watch, 0);
    free(to->in.data);
    free(to->out.data);
    to->watch = from->watch;
    to->in = from->in;
    to->out = from->out;
    to->out_head = from->out_head;
    pli_protect_fini(&to->seal);
    pli_protect_fini(&to->open);
    to->seal = from->seal;
    to->open = from->open;
    to->head = from->head;
    to->has_head = from->has_head;
    from->seal = from->open = (struct pli_protect){ 0 };
    from->has_head = false;
    to->host = from->host;
    from->watch = (struct pli_watch){ .fd = -1, .fire = from->watch.fire };
    from->in = from->out = (struct pli_pack){ 0 };
    from->out_head = 0;
    pli_loop_watch(&to->watch, events);
}
