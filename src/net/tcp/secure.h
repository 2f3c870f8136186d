// SPDX-License-Identifier: BSD-3-Clause
// A connection between two ranks whose bytes are protected (PLIANT_NET_PROTECT): records under the
// keys of its handshake. Sends and receives as a socket does, without waiting.
#ifndef PLI_NET_TCP_SECURE_H
#define PLI_NET_TCP_SECURE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct pli_secure;

// What PLIANT_NET_PROTECT asks for: enum pli_handshake_protect.
uint8_t pli_secure_level(void);

// Keys: to send, to receive. Fails, with a sentence, where it takes OpenSSL and there is none. NULL
// for a level that protects nothing. Context of all: one thread at a time. NULL is fine for destroy
// and has_more.
enum pli_err pli_secure_create(uint8_t level, const unsigned char keys[2][32],
                               struct pli_secure **out);
void pli_secure_destroy(struct pli_secure *s);

// As sendmsg with MSG_DONTWAIT. After EAGAIN the next call must offer the same bytes: some of them
// are on their way.
ssize_t pli_secure_send(struct pli_secure *s, int fd, const struct iovec *iov, int n);

// As recvmsg with MSG_DONTWAIT; EBADMSG: what came is not what was sent.
ssize_t pli_secure_receive(struct pli_secure *s, int fd, const struct iovec *iov, int n);
// Whether there is something to receive that the socket does not have any more.
bool pli_secure_has_more(const struct pli_secure *s);
// These bytes came over the connection before what its socket has now. False: no memory.
bool pli_secure_feed(struct pli_secure *s, const void *data, size_t len);

#endif
