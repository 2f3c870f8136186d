// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives protected records over a socket.
// A record is its length (little-endian), the bytes and a tag; the length is covered by the tag.
#include "base/protect_stream.h"

#include "base/fd_wait.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST = 256 * 1024, HEAD = 4, CAP = HEAD + MOST + PLI_PROTECT_TAG };

enum pli_err pli_protect_stream_open(struct pli_protect_stream *s, int fd, int stall_ms,
                                     enum pli_protect_suite suite,
                                     const unsigned char send[PLI_PROTECT_KEY],
                                     const unsigned char receive[PLI_PROTECT_KEY])
{
    *s = (struct pli_protect_stream){ .fd = fd, .stall_ms = stall_ms };
    s->out_buf = malloc(CAP);
    s->in_buf = malloc(CAP);
    enum pli_err err = s->out_buf != NULL && s->in_buf != NULL
                           ? pli_protect_init(&s->out, suite, send, true)
                           : pli_fail(PLI_ERR_NOMEM, "no memory to protect a connection");
    if (err == PLI_OK) {
        err = pli_protect_init(&s->in, suite, receive, false);
    }
    if (err != PLI_OK) {
        pli_protect_stream_close(s);
    }
    return err;
}

void pli_protect_stream_close(struct pli_protect_stream *s)
{
    pli_protect_fini(&s->out);
    pli_protect_fini(&s->in);
    free(s->out_buf);
    free(s->in_buf);
    *s = (struct pli_protect_stream){ .fd = -1 };
}

// Send or receive all of it, unless the other side is gone or silent for a while.
static bool move(const struct pli_protect_stream *s, bool is_send, unsigned char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = is_send ? send(s->fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                            : recv(s->fd, at, len, MSG_DONTWAIT);
        if ((n == 0 && !is_send) || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            errno = n == 0 ? ECONNRESET : errno;
            return false;
        }
        if (n < 0 && errno == EAGAIN &&
            !pli_fd_wait_wait(s->fd, is_send ? POLLOUT : POLLIN, s->stall_ms)) {
            return false;
        }
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool pli_protect_stream_put(struct pli_protect_stream *s, const void *from, size_t len)
{
    for (const char *at = from; len > 0;) {
        uint32_t n = len < MOST ? (uint32_t)len : MOST, head = htole32(n);
        memcpy(s->out_buf, &head, HEAD);
        memcpy(s->out_buf + HEAD, at, n);
        if (!pli_protect_seal(&s->out, s->out_buf, HEAD, s->out_buf + HEAD, n,
                              s->out_buf + HEAD + n)) {
            errno = EIO;
            return false;
        }
        if (!move(s, true, s->out_buf, HEAD + n + PLI_PROTECT_TAG)) {
            return false;
        }
        at += n;
        len -= n;
    }
    return true;
}

// The next record.
static bool fill(struct pli_protect_stream *s)
{
    uint32_t n;
    if (!move(s, false, s->in_buf, HEAD)) {
        return false;
    }
    memcpy(&n, s->in_buf, HEAD);
    n = le32toh(n);
    if (n == 0 || n > MOST) {
        errno = EBADMSG;
        return false;
    }
    if (!move(s, false, s->in_buf + HEAD, n + PLI_PROTECT_TAG)) {
        return false;
    }
    if (!pli_protect_open(&s->in, s->in_buf, HEAD, s->in_buf + HEAD, n, s->in_buf + HEAD + n)) {
        errno = EBADMSG;
        return false;
    }
    s->at = HEAD;
    s->len = n;
    return true;
}

bool pli_protect_stream_get(struct pli_protect_stream *s, void *to, size_t len)
{
    for (char *at = to; len > 0;) {
        if (s->len == 0 && !fill(s)) {
            return false;
        }
        size_t n = len < s->len ? len : s->len;
        memcpy(at, s->in_buf + s->at, n);
        s->at += n;
        s->len -= n;
        at += n;
        len -= n;
    }
    return true;
}
