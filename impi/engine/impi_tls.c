// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL behind a few functions. Its names are looked up at run time; what is declared here is its
// stable interface of version 3.
#include "engine/impi_tls.h"
#include "wire/impi_byte.h"
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum {
    MIN_SECRET = 16,
    MAX_SECRET = 64,
    RECORD = 16384, // of TLS
    CTRL_MODE = 33,
    CTRL_MIN_VERSION = 123,
    MODE_PARTIAL_MOVING = 1 | 2,
    TLS_1_3 = 0x0304,
    VERIFY_PEER = 1,
    ERROR_WANT_READ = 2,
    ERROR_WANT_WRITE = 3,
    ERROR_SYSCALL = 5,
    ERROR_ZERO_RETURN = 6,
};

static const char identity[] = "impi";

typedef unsigned (*psk_client_fn)(void *ssl, const char *hint, char *id, unsigned max_id,
                                  unsigned char *psk, unsigned max);
typedef unsigned (*psk_server_fn)(void *ssl, const char *id, unsigned char *psk, unsigned max);

struct calls { // of libssl
    const void *(*tls_method)(void);
    void *(*ctx_new)(const void *method);
    void (*ctx_free)(void *ctx);
    long (*ctx_ctrl)(void *ctx, int cmd, long arg, void *p);
    int (*ctx_ciphersuites)(void *ctx, const char *list);
    void (*ctx_psk_client)(void *ctx, psk_client_fn fn);
    void (*ctx_psk_server)(void *ctx, psk_server_fn fn);
    int (*ctx_num_tickets)(void *ctx, size_t n);
    int (*ctx_set_ex)(void *ctx, int index, void *data);
    void *(*ctx_get_ex)(const void *ctx, int index);
    void *(*get_ctx)(const void *ssl);
    void *(*create)(void *ctx);
    void (*destroy)(void *ssl);
    int (*set_fd)(void *ssl, int fd);
    void (*as_client)(void *ssl);
    void (*as_server)(void *ssl);
    void (*set_verify)(void *ssl, int mode, void *callback);
    int (*handshake)(void *ssl);
    int (*is_resumed)(const void *ssl);
    int (*read)(void *ssl, void *buf, int len);
    int (*write)(void *ssl, const void *buf, int len);
    int (*error)(const void *ssl, int result);
    int (*pending)(const void *ssl);
    void (*clear_errors)(void);
};

static struct calls ssl; // filled once; the library stays loaded

struct pli_impi_tls {
    void *ctx;
    unsigned char secret[MAX_SECRET];
    unsigned len;
};

struct pli_impi_tls_conn {
    void *ssl;
    bool waits, has_failed;
    bool is_caller, is_open; // open: the handshake is over and the other side has the secret
    unsigned char stage[RECORD];
};

static enum pli_impi_err load(const struct pli_impi_log *log)
{
    static const struct {
        const char *name;
        size_t at;
    } need[] = {
        { "TLS_method", offsetof(struct calls, tls_method) },
        { "SSL_CTX_new", offsetof(struct calls, ctx_new) },
        { "SSL_CTX_free", offsetof(struct calls, ctx_free) },
        { "SSL_CTX_ctrl", offsetof(struct calls, ctx_ctrl) },
        { "SSL_CTX_set_ciphersuites", offsetof(struct calls, ctx_ciphersuites) },
        { "SSL_CTX_set_psk_client_callback", offsetof(struct calls, ctx_psk_client) },
        { "SSL_CTX_set_psk_server_callback", offsetof(struct calls, ctx_psk_server) },
        { "SSL_CTX_set_num_tickets", offsetof(struct calls, ctx_num_tickets) },
        { "SSL_CTX_set_ex_data", offsetof(struct calls, ctx_set_ex) },
        { "SSL_CTX_get_ex_data", offsetof(struct calls, ctx_get_ex) },
        { "SSL_get_SSL_CTX", offsetof(struct calls, get_ctx) },
        { "SSL_new", offsetof(struct calls, create) },
        { "SSL_free", offsetof(struct calls, destroy) },
        { "SSL_set_fd", offsetof(struct calls, set_fd) },
        { "SSL_set_connect_state", offsetof(struct calls, as_client) },
        { "SSL_set_accept_state", offsetof(struct calls, as_server) },
        { "SSL_set_verify", offsetof(struct calls, set_verify) },
        { "SSL_do_handshake", offsetof(struct calls, handshake) },
        { "SSL_session_reused", offsetof(struct calls, is_resumed) },
        { "SSL_read", offsetof(struct calls, read) },
        { "SSL_write", offsetof(struct calls, write) },
        { "SSL_get_error", offsetof(struct calls, error) },
        { "SSL_pending", offsetof(struct calls, pending) },
        { "ERR_clear_error", offsetof(struct calls, clear_errors) },
    };
    if (ssl.create != NULL) {
        return PLI_IMPI_OK;
    }
    void *lib = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     "TLS needs OpenSSL 3: %s (IMPI_TLS=off goes without TLS)", dlerror());
        return PLI_IMPI_ERR_SYS;
    }
    struct calls found;
    for (size_t i = 0; i < sizeof need / sizeof *need; i++) {
        void *p = dlsym(lib, need[i].name);
        if (p == NULL) {
            pli_impi_log(log, PLI_IMPI_LOG_ERROR, "libssl.so.3 has no %s", need[i].name);
            dlclose(lib);
            return PLI_IMPI_ERR_SYS;
        }
        memcpy((char *)&found + need[i].at, &p, sizeof p);
    }
    ssl = found;
    return PLI_IMPI_OK;
}

static int digit(int c)
{
    return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

static enum pli_impi_err read_secret(const char *file, const struct pli_impi_log *log,
                                     struct pli_impi_tls *t)
{
    char line[2 * MAX_SECRET + 4] = "";
    struct stat st;
    FILE *f = fopen(file, "r");
    if (f == NULL || fgets(line, sizeof line, f) == NULL || fstat(fileno(f), &st) != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "cannot read a secret from %s: %s", file,
                     f == NULL || ferror(f) ? strerror(errno) : "it is empty");
        if (f != NULL) {
            fclose(f);
        }
        return PLI_IMPI_ERR_AUTH;
    }
    fclose(f);
    size_t len = strspn(line, "0123456789abcdefABCDEF");
    bool is_good = line[len + strspn(line + len, " \t\r\n")] == '\0' && len % 2 == 0 &&
                   len >= 2 * MIN_SECRET && len <= 2 * MAX_SECRET;
    for (size_t i = 0; is_good && i < len / 2; i++) {
        t->secret[i] = (unsigned char)(digit(line[2 * i]) << 4 | digit(line[2 * i + 1]));
    }
    t->len = (unsigned)(len / 2);
    memset(line, 0, sizeof line);
    if (!is_good || (st.st_mode & 077) != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     is_good ? "%s can be read by others; try chmod 600"
                             : "%s holds no secret of %d to %d hexadecimal digits; try "
                               "openssl rand -hex 32",
                     file, 2 * MIN_SECRET, 2 * MAX_SECRET);
        return PLI_IMPI_ERR_AUTH;
    }
    return PLI_IMPI_OK;
}

static const struct pli_impi_tls *owner(void *conn)
{
    return ssl.ctx_get_ex(ssl.get_ctx(conn), 0);
}

static unsigned copy_secret(const struct pli_impi_tls *t, unsigned char *psk, unsigned max)
{
    if (t == NULL || t->len > max) {
        return 0;
    }
    memcpy(psk, t->secret, t->len);
    return t->len;
}

static unsigned as_caller(void *conn, const char *hint, char *id, unsigned max_id,
                          unsigned char *psk, unsigned max)
{
    (void)hint;
    if (max_id < sizeof identity) {
        return 0;
    }
    memcpy(id, identity, sizeof identity);
    return copy_secret(owner(conn), psk, max);
}

static unsigned as_called(void *conn, const char *id, unsigned char *psk, unsigned max)
{
    return id != NULL && strcmp(id, identity) == 0 ? copy_secret(owner(conn), psk, max) : 0;
}

// Takes `t` over.
static enum pli_impi_err set_up(struct pli_impi_tls *t, const struct pli_impi_log *log,
                                struct pli_impi_tls **out)
{
    enum pli_impi_err err = load(log);
    if (err == PLI_IMPI_OK) {
        t->ctx = ssl.ctx_new(ssl.tls_method());
        // a secret without a certificate goes with this suite; a fresh key exchange is part of it
        if (t->ctx == NULL || ssl.ctx_ctrl(t->ctx, CTRL_MIN_VERSION, TLS_1_3, NULL) != 1 ||
            ssl.ctx_ciphersuites(t->ctx, "TLS_AES_128_GCM_SHA256") != 1 ||
            // nobody comes back by a ticket, and one that is not read turns a close into a reset
            ssl.ctx_num_tickets(t->ctx, 0) != 1 || ssl.ctx_set_ex(t->ctx, 0, t) != 1) {
            pli_impi_log(log, PLI_IMPI_LOG_ERROR, "this OpenSSL cannot do TLS 1.3");
            err = PLI_IMPI_ERR_SYS;
        }
    }
    if (err != PLI_IMPI_OK) {
        pli_impi_tls_destroy(t);
        return err;
    }
    (void)signal(SIGPIPE, SIG_IGN); // OpenSSL writes as if to a file
    ssl.ctx_ctrl(t->ctx, CTRL_MODE, MODE_PARTIAL_MOVING, NULL);
    ssl.ctx_psk_client(t->ctx, as_caller);
    ssl.ctx_psk_server(t->ctx, as_called);
    *out = t;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_tls_create(const char *file, const struct pli_impi_log *log,
                                      struct pli_impi_tls **out)
{
    struct pli_impi_tls *t = calloc(1, sizeof *t);
    enum pli_impi_err err = t == NULL ? PLI_IMPI_ERR_NOMEM : read_secret(file, log, t);
    if (err != PLI_IMPI_OK) {
        pli_impi_tls_destroy(t);
        return err;
    }
    return set_up(t, log, out);
}

enum pli_impi_err pli_impi_tls_create_from(const unsigned char *secret, size_t len,
                                           const struct pli_impi_log *log,
                                           struct pli_impi_tls **out)
{
    struct pli_impi_tls *t = len < MIN_SECRET || len > MAX_SECRET ? NULL : calloc(1, sizeof *t);
    if (t == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    memcpy(t->secret, secret, len);
    t->len = (unsigned)len;
    return set_up(t, log, out);
}

static const struct pli_impi_log no_log;

struct pli_impi_tls *pli_impi_tls_create_key(uint64_t key)
{
    struct {
        char purpose[16];
        unsigned char key[8];
    } secret = { .purpose = "impi server key" };
    struct pli_impi_tls *t = NULL;
    pli_impi_byte_put64(secret.key, key);
    return pli_impi_tls_create_from((const unsigned char *)&secret, sizeof secret, &no_log, &t) ==
                   PLI_IMPI_OK
               ? t
               : NULL;
}

bool pli_impi_tls_is_here(void)
{
    return load(&no_log) == PLI_IMPI_OK;
}

void pli_impi_tls_destroy(struct pli_impi_tls *t)
{
    if (t == NULL) {
        return;
    }
    if (t->ctx != NULL) {
        ssl.ctx_free(t->ctx);
    }
    explicit_bzero(t, sizeof *t);
    free(t);
}

enum pli_impi_err pli_impi_tls_conn_create(struct pli_impi_tls *t, int fd, bool is_caller,
                                           struct pli_impi_tls_conn **out)
{
    struct pli_impi_tls_conn *c = calloc(1, sizeof *c);
    if (c != NULL) {
        c->ssl = ssl.create(t->ctx);
    }
    if (c == NULL || c->ssl == NULL || ssl.set_fd(c->ssl, fd) != 1) {
        pli_impi_tls_conn_destroy(c);
        return PLI_IMPI_ERR_NOMEM;
    }
    (is_caller ? ssl.as_client : ssl.as_server)(c->ssl);
    c->is_caller = is_caller;
    if (is_caller) { // no certificate is ever good: the called host proves itself by the secret
        ssl.set_verify(c->ssl, VERIFY_PEER, NULL);
    }
    *out = c;
    return PLI_IMPI_OK;
}

void pli_impi_tls_conn_destroy(struct pli_impi_tls_conn *c)
{
    if (c == NULL) {
        return;
    }
    if (c->ssl != NULL) {
        ssl.destroy(c->ssl);
    }
    free(c);
}

// What a failed call of the library means for its caller.
static enum pli_impi_err judge(struct pli_impi_tls_conn *c, int result, int sys)
{
    bool was_open = c->is_open; // OpenSSL forgets it with the error
    switch (ssl.error(c->ssl, result)) {
    case ERROR_WANT_READ:
        return PLI_IMPI_AGAIN;
    case ERROR_WANT_WRITE:
        return PLI_IMPI_AGAIN;
    case ERROR_ZERO_RETURN:
        c->has_failed = true;
        return PLI_IMPI_ERR_PEER;
    case ERROR_SYSCALL:
        c->has_failed = true;
        errno = sys;
        return sys == 0 ? PLI_IMPI_ERR_PEER : PLI_IMPI_ERR_SYS;
    default:
        c->has_failed = true;
        ssl.clear_errors();
        return was_open ? PLI_IMPI_ERR_PEER : PLI_IMPI_ERR_AUTH;
    }
}

// The handshake, before a byte of the protocol is sent or taken. A called side that does not know
// the secret could offer a certificate instead; the secret must have been what was agreed upon.
static enum pli_impi_err shake_hands(struct pli_impi_tls_conn *c, bool *wants_read_out)
{
    if (c->is_open) {
        return PLI_IMPI_OK;
    }
    int done = ssl.handshake(c->ssl);
    if (done <= 0) {
        *wants_read_out = ssl.error(c->ssl, done) == ERROR_WANT_READ;
        return judge(c, done, errno);
    }
    if (c->is_caller && ssl.is_resumed(c->ssl) != 1) {
        c->has_failed = true;
        return PLI_IMPI_ERR_AUTH;
    }
    c->is_open = true;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_tls_conn_read(struct pli_impi_tls_conn *c, const struct iovec *iov,
                                         int n, size_t *len_out)
{
    size_t len = 0;
    if (c->has_failed) {
        return PLI_IMPI_ERR_PEER;
    }
    ssl.clear_errors();
    bool wants_read;
    enum pli_impi_err shaken = shake_hands(c, &wants_read);
    if (shaken != PLI_IMPI_OK) {
        *len_out = 0;
        return shaken;
    }
    for (int i = 0; i < n; i++) {
        for (size_t at = 0; at < iov[i].iov_len;) {
            size_t left = iov[i].iov_len - at;
            int got = ssl.read(c->ssl, (char *)iov[i].iov_base + at,
                               left > INT32_MAX ? INT32_MAX : (int)left);
            if (got <= 0) { // an end is told when all before it has been taken
                enum pli_impi_err err = judge(c, got, errno);
                *len_out = len;
                return len > 0 ? PLI_IMPI_OK : err;
            }
            at += (size_t)got;
            len += (size_t)got;
        }
    }
    *len_out = len;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_tls_conn_write(struct pli_impi_tls_conn *c, const struct iovec *iov,
                                          int n, size_t *len_out)
{
    size_t len = 0;
    if (c->has_failed) {
        return PLI_IMPI_ERR_PEER;
    }
    ssl.clear_errors();
    c->waits = false;
    enum pli_impi_err shaken = shake_hands(c, &c->waits);
    if (shaken != PLI_IMPI_OK) {
        return shaken;
    }
    for (int i = 0; i < n && len < RECORD; i++) { // small packets share a record
        size_t part = iov[i].iov_len < RECORD - len ? iov[i].iov_len : RECORD - len;
        memcpy(c->stage + len, iov[i].iov_base, part);
        len += part;
    }
    int put = ssl.write(c->ssl, c->stage, (int)len);
    c->waits = put <= 0 && ssl.error(c->ssl, put) == ERROR_WANT_READ;
    if (put <= 0) {
        return judge(c, put, errno);
    }
    *len_out = (size_t)put;
    return PLI_IMPI_OK;
}

bool pli_impi_tls_conn_has_more(const struct pli_impi_tls_conn *c)
{
    return !c->has_failed && ssl.pending(c->ssl) > 0;
}

bool pli_impi_tls_conn_waits(const struct pli_impi_tls_conn *c)
{
    return c->waits;
}
