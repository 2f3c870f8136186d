// SPDX-License-Identifier: BSD-3-Clause
// A connected socket, with TLS or without. Context: one thread.
#ifndef PLI_IMPI_STREAM_H
#define PLI_IMPI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include "wire/impi_err.h"

struct iovec;
struct pli_impi_tls;
struct pli_impi_tls_conn;

struct pli_impi_stream {
    int fd;                        // -1: none
    struct pli_impi_tls_conn *tls; // NULL: plain
};

// Takes `fd` over, also when it fails. `tls` NULL: plain. ERR_NOMEM.
enum pli_impi_err pli_impi_stream_open(struct pli_impi_stream *s, int fd, struct pli_impi_tls *tls,
                                       bool is_caller);
// Go on with TLS. ERR_NOMEM.
enum pli_impi_err pli_impi_stream_secure(struct pli_impi_stream *s, struct pli_impi_tls *tls,
                                         bool is_caller);
void pli_impi_stream_close(struct pli_impi_stream *s);

// As pli_impi_sock_read and _write, and ERR_AUTH as pli_impi_tls_conn_read.
enum pli_impi_err pli_impi_stream_read(struct pli_impi_stream *s, const struct iovec *iov, int n,
                                       size_t *len_out);
enum pli_impi_err pli_impi_stream_write(struct pli_impi_stream *s, const struct iovec *iov, int n,
                                        size_t *len_out);
bool pli_impi_stream_has_more(const struct pli_impi_stream *s); // without a look at the socket
bool pli_impi_stream_waits(const struct pli_impi_stream *s);    // to write, for something to read

#endif
