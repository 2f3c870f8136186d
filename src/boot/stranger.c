// SPDX-License-Identifier: BSD-3-Clause
// Reads exactly the bytes of the greeting: what follows is for the process that was called.
#include "boot/stranger.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

bool pli_stranger_accept(int listener, struct pli_stranger *out)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    *out = (struct pli_stranger){ .fd = fd, .since = pli_clock_ns() };
    return true;
}

// Read what is still missing of a message. PLI_OK: it is complete.
static enum pli_err hear(struct pli_stranger *s, void *to, size_t size)
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

static enum pli_err answer(struct pli_stranger *s, const unsigned char *secret)
{
    // The answer fits an empty socket, or the caller is no good. Who speaks another version gets it
    // too, without a hash, so that he can say so.
    enum pli_err err = pli_greet_reply(secret, &s->open, &s->reply);
    pli_fail_take(NULL);
    ssize_t n = send(s->fd, &s->reply, sizeof s->reply, MSG_DONTWAIT | MSG_NOSIGNAL);
    s->is_asked = true;
    return err == PLI_OK && n == (ssize_t)sizeof s->reply ? PLI_AGAIN : PLI_ERR_OTHER;
}

enum pli_err pli_stranger_step(struct pli_stranger *s, const unsigned char *secret)
{
    if (!s->is_asked) {
        enum pli_err err = hear(s, &s->open, sizeof s->open);
        return err == PLI_OK ? answer(s, secret) : err;
    }
    enum pli_err err = hear(s, &s->join, sizeof s->join);
    if (err == PLI_OK && !pli_greet_check_join(secret, &s->open, &s->reply, &s->join)) {
        err = PLI_ERR_OTHER;
    }
    return err;
}
