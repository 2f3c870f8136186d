// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes a plain or a TLS connection, as decided when it was made.
#include "engine/impi_stream.h"
#include "engine/impi_sock.h"
#include "engine/impi_tls.h"
#include <errno.h>
#include <unistd.h>

enum pli_impi_err pli_impi_stream_open(struct pli_impi_stream *s, int fd, struct pli_impi_tls *tls,
                                       bool is_caller)
{
    *s = (struct pli_impi_stream){ .fd = fd };
    enum pli_impi_err err =
        tls == NULL ? PLI_IMPI_OK : pli_impi_tls_conn_create(tls, fd, is_caller, &s->tls);
    if (err != PLI_IMPI_OK) {
        pli_impi_stream_close(s);
    }
    return err;
}

enum pli_impi_err pli_impi_stream_secure(struct pli_impi_stream *s, struct pli_impi_tls *tls,
                                         bool is_caller)
{
    return pli_impi_tls_conn_create(tls, s->fd, is_caller, &s->tls);
}

void pli_impi_stream_close(struct pli_impi_stream *s)
{
    int saved = errno;
    if (s->tls != NULL) {
        pli_impi_tls_conn_destroy(s->tls);
        s->tls = NULL;
    }
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
    errno = saved;
}

enum pli_impi_err pli_impi_stream_read(struct pli_impi_stream *s, const struct iovec *iov, int n,
                                       size_t *len_out)
{
    return s->tls != NULL ? pli_impi_tls_conn_read(s->tls, iov, n, len_out)
                          : pli_impi_sock_read(s->fd, iov, n, len_out);
}

enum pli_impi_err pli_impi_stream_write(struct pli_impi_stream *s, const struct iovec *iov, int n,
                                        size_t *len_out)
{
    return s->tls != NULL ? pli_impi_tls_conn_write(s->tls, iov, n, len_out)
                          : pli_impi_sock_write(s->fd, iov, n, len_out);
}

bool pli_impi_stream_has_more(const struct pli_impi_stream *s)
{
    return s->tls != NULL && pli_impi_tls_conn_has_more(s->tls);
}

bool pli_impi_stream_waits(const struct pli_impi_stream *s)
{
    return s->tls != NULL && pli_impi_tls_conn_waits(s->tls);
}
