// SPDX-License-Identifier: BSD-3-Clause
// Encrypts, or signs, what goes over a connection between two ranks.
// A record is its length, the bytes, and a tag over both and over how many records went before.
// With "auth" the bytes are covered by the tag and stay as they are; with "encrypt" they are
// encrypted.
#include "net/tcp/secure.h"

#include "base/conf.h"
#include "base/crypto.h"
#include "base/protect.h"
#include "boot/handshake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST = 64 * 1024, HEAD = 4, EXTRA = HEAD + PLI_PROTECT_TAG, CAP_IN = 4 * (MOST + EXTRA) };

struct pli_secure {
    bool is_plain; // "auth"
    struct pli_protect seal, open;
    unsigned char out[MOST + EXTRA]; // the record on its way
    size_t out_len, out_at;          // its bytes; how many the kernel has
    unsigned char *in;
    size_t cap, at, end; // what was received and not handed out: in[at] to in[end]
    size_t plain;        // of the record at `at`: bytes that were checked and are left; 0: none
};

uint8_t pli_secure_level(void)
{
    return strcmp(pli_conf.net_protect, "encrypt") == 0 ? PLI_HANDSHAKE_ENCRYPT
           : strcmp(pli_conf.net_protect, "auth") == 0  ? PLI_HANDSHAKE_AUTH
                                                        : PLI_HANDSHAKE_PLAIN;
}

enum pli_err pli_secure_create(uint8_t level, const unsigned char keys[2][32],
                               struct pli_secure **out)
{
    if (level == PLI_HANDSHAKE_PLAIN) {
        *out = NULL;
        return PLI_OK;
    }
    if (!pli_crypto_is_there()) {
        return pli_fail(PLI_ERR_OTHER,
                        "PLIANT_NET_PROTECT=%s needs OpenSSL 3 (libcrypto.so.3), "
                        "which is not installed on this host",
                        pli_conf.net_protect);
    }
    struct pli_secure *s = calloc(1, sizeof *s);
    unsigned char *in = malloc(CAP_IN);
    if (s == NULL || in == NULL) {
        free(s);
        free(in);
        return pli_fail(PLI_ERR_NOMEM, "no memory to protect a connection");
    }
    s->in = in;
    s->cap = CAP_IN;
    s->is_plain = level == PLI_HANDSHAKE_AUTH;
    enum pli_err err = pli_protect_init(&s->seal, PLI_PROTECT_GCM, keys[0], true);
    err = err == PLI_OK ? pli_protect_init(&s->open, PLI_PROTECT_GCM, keys[1], false) : err;
    if (err != PLI_OK) {
        pli_secure_destroy(s);
        return err;
    }
    *out = s;
    return PLI_OK;
}

void pli_secure_destroy(struct pli_secure *s)
{
    if (s != NULL) {
        pli_protect_fini(&s->seal);
        pli_protect_fini(&s->open);
        free(s->in);
        free(s);
    }
}

// Make a record of the first bytes. False: OpenSSL failed.
static bool seal(struct pli_secure *s, const struct iovec *iov, int n)
{
    uint32_t len = 0;
    for (int i = 0; i < n && len < MOST; i++) {
        size_t part = iov[i].iov_len < MOST - len ? iov[i].iov_len : MOST - len;
        if (part > 0) { // a message without data has no place either
            memcpy(s->out + HEAD + len, iov[i].iov_base, part);
            len += (uint32_t)part;
        }
    }
    memcpy(s->out, &len, HEAD);
    size_t head = s->is_plain ? HEAD + len : HEAD;
    s->out_len = EXTRA + len;
    s->out_at = 0;
    return pli_protect_seal(&s->seal, s->out, head, s->out + head, HEAD + len - head,
                            s->out + HEAD + len);
}

ssize_t pli_secure_send(struct pli_secure *s, int fd, const struct iovec *iov, int n)
{
    if (s->out_len == 0 && !seal(s, iov, n)) {
        errno = EIO;
        return -1;
    }
    ssize_t k = send(fd, s->out + s->out_at, s->out_len - s->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (k < 0) {
        return -1;
    }
    s->out_at += (size_t)k;
    if (s->out_at < s->out_len) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t len = (ssize_t)(s->out_len - EXTRA);
    s->out_len = 0;
    return len;
}

// The length of the record at `at`; 0: it is not complete.
static size_t complete(const struct pli_secure *s)
{
    uint32_t len = 0;
    if (s->end - s->at < HEAD) {
        return 0;
    }
    memcpy(&len, s->in + s->at, HEAD);
    return s->end - s->at >= (size_t)len + EXTRA ? len : 0;
}

bool pli_secure_has_more(const struct pli_secure *s)
{
    return s != NULL && (s->plain > 0 || complete(s) > 0);
}

// Check the next record. PLI_AGAIN: it is not complete.
static enum pli_err unseal(struct pli_secure *s)
{
    uint32_t len = 0;
    if (s->end - s->at >= HEAD) {
        memcpy(&len, s->in + s->at, HEAD);
        if (len == 0 || len > MOST) {
            return PLI_ERR_OTHER;
        }
    }
    if (complete(s) == 0) {
        return PLI_AGAIN;
    }
    unsigned char *at = s->in + s->at;
    size_t head = s->is_plain ? HEAD + len : HEAD;
    if (!pli_protect_open(&s->open, at, head, at + head, HEAD + len - head, at + HEAD + len)) {
        return PLI_ERR_OTHER;
    }
    s->at += HEAD;
    s->plain = len;
    return PLI_OK;
}

// Hand out what was checked. How many bytes.
static size_t give(struct pli_secure *s, char *to, size_t room)
{
    size_t n = s->plain < room ? s->plain : room;
    memcpy(to, s->in + s->at, n);
    s->at += n;
    s->plain -= n;
    if (s->plain == 0) {
        s->at += PLI_PROTECT_TAG;
    }
    return n;
}

// Read what the socket has. As recv.
static ssize_t fill(struct pli_secure *s, int fd)
{
    memmove(s->in, s->in + s->at, s->end - s->at);
    s->end -= s->at;
    s->at = 0;
    ssize_t n = recv(fd, s->in + s->end, s->cap - s->end, MSG_DONTWAIT);
    s->end += n > 0 ? (size_t)n : 0;
    return n;
}

ssize_t pli_secure_receive(struct pli_secure *s, int fd, const struct iovec *iov, int n)
{
    size_t total = 0, in_part = 0;
    for (int i = 0; i < n;) {
        if (s->plain == 0) {
            enum pli_err err = unseal(s);
            ssize_t k = err == PLI_AGAIN ? fill(s, fd) : 1;
            if (err < 0) {
                errno = EBADMSG;
            }
            if (err < 0 || k <= 0) {
                return total > 0 ? (ssize_t)total : err < 0 ? -1 : k;
            }
            continue;
        }
        size_t got = give(s, (char *)iov[i].iov_base + in_part, iov[i].iov_len - in_part);
        total += got;
        in_part += got;
        if (in_part == iov[i].iov_len) {
            in_part = 0;
            i++;
        }
    }
    return (ssize_t)total;
}

bool pli_secure_feed(struct pli_secure *s, const void *data, size_t len)
{
    size_t have = s->end - s->at;
    if (have + len > s->cap) {
        unsigned char *more = realloc(s->in, have + len + CAP_IN);
        if (more == NULL) {
            return false;
        }
        s->in = more;
        s->cap = have + len + CAP_IN;
    }
    memmove(s->in, s->in + s->at, have);
    memcpy(s->in + have, data, len);
    s->at = 0;
    s->end = have + len;
    return true;
}
