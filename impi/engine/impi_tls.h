// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 with a shared secret, between hosts and to the server. OpenSSL does it, loaded when it is
// asked for, so that nothing depends on it otherwise. Context: one thread.
#ifndef PLI_IMPI_TLS_H
#define PLI_IMPI_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/impi_log.h"
#include "wire/impi_err.h"

struct iovec;
struct pli_impi_tls;
struct pli_impi_tls_conn;

// The secret is in the first line of `file`: 32 to 128 hexadecimal digits, readable by its owner
// alone. Logs. ERR_AUTH: no such secret. ERR_SYS: no OpenSSL 3 here.
enum pli_impi_err pli_impi_tls_create(const char *file, const struct pli_impi_log *log,
                                      struct pli_impi_tls **out);
// The secret is given, 16 to 64 bytes.
enum pli_impi_err pli_impi_tls_create_from(const unsigned char *secret, size_t len,
                                           const struct pli_impi_log *log,
                                           struct pli_impi_tls **out);
// The secret is the key of the protocol. Who listens cannot read what is said, not even with the
// key; a short one can be found by trial, and then he could take part. NULL: there is no OpenSSL 3
// here; nothing is said of it.
struct pli_impi_tls *pli_impi_tls_create_key(uint64_t key);
bool pli_impi_tls_is_here(void); // whether there is OpenSSL 3
void pli_impi_tls_destroy(struct pli_impi_tls *t);

// A connection over the non-blocking socket `fd`, which stays the caller's. `is_caller`: the side
// that connected. The handshake is part of the first reads and writes. ERR_NOMEM.
enum pli_impi_err pli_impi_tls_conn_create(struct pli_impi_tls *t, int fd, bool is_caller,
                                           struct pli_impi_tls_conn **out);
void pli_impi_tls_conn_destroy(struct pli_impi_tls_conn *c);

// As pli_impi_sock_read and _write. ERR_AUTH: the other side has another secret, or speaks no TLS.
enum pli_impi_err pli_impi_tls_conn_read(struct pli_impi_tls_conn *c, const struct iovec *iov,
                                         int n, size_t *len_out);
enum pli_impi_err pli_impi_tls_conn_write(struct pli_impi_tls_conn *c, const struct iovec *iov,
                                          int n, size_t *len_out);

// Bytes can be read although the socket may have none.
bool pli_impi_tls_conn_has_more(const struct pli_impi_tls_conn *c);
// The last write waits for the socket to be readable, not writable.
bool pli_impi_tls_conn_waits(const struct pli_impi_tls_conn *c);

#endif
