// SPDX-License-Identifier: BSD-3-Clause
// Makes the system calls of the socket layer.
#include "engine/impi_sock.h"
#include "wire/impi_label_wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void tune(int fd)
{
    int on = 1; // both are for speed and diagnosis only: a failure changes nothing else
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

void pli_impi_sock_expect(int fd, int silence_s)
{
    if (silence_s > 0) { // so that all probes have gone unanswered by then
        int each = silence_s < 5 ? 1 : silence_s / 5, n = silence_s < 2 ? 1 : silence_s / each - 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &each, sizeof each);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof each);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n, sizeof n);
    }
}

bool pli_impi_sock_awaits(int fd, uint32_t *ms_out)
{
    struct tcp_info info;
    socklen_t len = sizeof info;
    *ms_out = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 || info.tcpi_unacked == 0) {
        return false;
    }
    *ms_out = info.tcpi_retransmits > 0 ? info.tcpi_last_ack_recv : 0;
    return true;
}

uint32_t pli_impi_sock_rtt(int fd)
{
    struct tcp_info info;
    socklen_t len = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 ? info.tcpi_rtt : 0;
}

void pli_impi_sock_limit(int fd, int bytes)
{
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes); // for speed only
}

static void close_keep(int fd)
{
    int saved = errno;
    close(fd);
    errno = saved;
}

static int listen_on(const struct addrinfo *ai)
{
    int on = 1, off = 0;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ai->ai_family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        close_keep(fd);
        return -1;
    }
    return fd;
}

// The first address of `host` that can be listened on, or -1 and errno.
static int listen_any(const char *host, const char *service, int family)
{
    struct addrinfo hint = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_family = family,
                             .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    int fd = -1;
    errno = EADDRNOTAVAIL;
    if (getaddrinfo(host, service, &hint, &list) != 0) {
        return -1;
    }
    for (const struct addrinfo *ai = list; ai != NULL && fd < 0; ai = ai->ai_next) {
        fd = listen_on(ai);
    }
    int saved = errno;
    freeaddrinfo(list);
    errno = saved;
    return fd;
}

enum pli_impi_err pli_impi_sock_listen(const char *bind, uint16_t port,
                                       const struct pli_impi_log *log, int *fd_out,
                                       uint16_t *port_out)
{
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int fd = listen_any(bind, service, bind != NULL ? AF_UNSPEC : AF_INET6);
    if (fd < 0 && bind == NULL) { // no IPv6 here
        fd = listen_any(NULL, service, AF_INET);
    }
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&addr, &len) != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "cannot listen on %s port %u: %s",
                     bind != NULL ? bind : "any address", port, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return PLI_IMPI_ERR_SYS;
    }
    *port_out = ntohs(addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port
                                                 : ((struct sockaddr_in *)&addr)->sin_port);
    *fd_out = fd;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_accept(int listen_fd, int *fd_out)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        bool is_news =
            errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED;
        return is_news ? PLI_IMPI_ERR_SYS : PLI_IMPI_AGAIN;
    }
    tune(fd);
    *fd_out = fd;
    return PLI_IMPI_OK;
}

static enum pli_impi_err dial(const struct sockaddr *addr, socklen_t len, int *fd_out)
{
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return PLI_IMPI_ERR_SYS;
    }
    tune(fd);
    if (connect(fd, addr, len) != 0 && errno != EINPROGRESS) {
        close_keep(fd);
        return PLI_IMPI_ERR_SYS;
    }
    *fd_out = fd;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_dial(const unsigned char addr[PLI_IMPI_HOSTID], uint16_t port,
                                     int *fd_out)
{
    if (pli_impi_label_is_ipv4(addr)) {
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
        memcpy(&v4.sin_addr, addr + 12, 4);
        return dial((struct sockaddr *)&v4, sizeof v4, fd_out);
    }
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    memcpy(&v6.sin6_addr, addr, PLI_IMPI_HOSTID);
    return dial((struct sockaddr *)&v6, sizeof v6, fd_out);
}

// Addresses of "name:port" or "[address]:port". Logs.
static enum pli_impi_err look_up(const char *where, const struct pli_impi_log *log,
                                 struct addrinfo **out)
{
    char host[256];
    const char *colon = strrchr(where, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - where);
    bool is_bracketed = len >= 2 && where[0] == '[' && where[len - 1] == ']';
    if (len == 0 || len >= sizeof host) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "'%s' is not host:port", where);
        return PLI_IMPI_ERR_ARG;
    }
    snprintf(host, sizeof host, "%.*s", (int)(len - (is_bracketed ? 2 : 0)),
             where + (is_bracketed ? 1 : 0));
    struct addrinfo hint = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    int rc = getaddrinfo(host, colon + 1, &hint, out);
    if (rc != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "cannot find %s: %s", where, gai_strerror(rc));
        return PLI_IMPI_ERR_SYS;
    }
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_dial_name(const char *where, const struct pli_impi_log *log,
                                          int *fd_out)
{
    struct addrinfo *list = NULL;
    enum pli_impi_err err = look_up(where, log, &list);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    err = dial(list->ai_addr, list->ai_addrlen, fd_out);
    freeaddrinfo(list);
    if (err != PLI_IMPI_OK) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "cannot connect to %s: %s", where, strerror(errno));
    }
    return err;
}

static void put_address(const struct sockaddr *addr, unsigned char out[PLI_IMPI_HOSTID])
{
    if (addr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)addr;
        pli_impi_label_put_ipv4((const unsigned char *)&v4->sin_addr, out);
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;
        memcpy(out, &v6->sin6_addr, PLI_IMPI_HOSTID);
    }
}

enum pli_impi_err pli_impi_sock_caller(int fd, unsigned char out[PLI_IMPI_HOSTID])
{
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    if (getpeername(fd, (struct sockaddr *)&addr, &len) != 0) {
        return PLI_IMPI_ERR_SYS;
    }
    put_address((struct sockaddr *)&addr, out);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_find(const char *name, const struct pli_impi_log *log,
                                     unsigned char out[PLI_IMPI_HOSTID])
{
    struct addrinfo hint = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(name, NULL, &hint, &list);
    if (rc != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "cannot find the address of %s: %s", name,
                     gai_strerror(rc));
        return PLI_IMPI_ERR_SYS;
    }
    put_address(list->ai_addr, out);
    freeaddrinfo(list);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_toward(const char *where, const struct pli_impi_log *log,
                                       unsigned char out[PLI_IMPI_HOSTID])
{
    struct addrinfo *list = NULL;
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    enum pli_impi_err err = look_up(where, log, &list);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0); // connecting sends nothing
    if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) != 0 ||
        getsockname(fd, (struct sockaddr *)&addr, &len) != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "no way to %s: %s", where, strerror(errno));
        err = PLI_IMPI_ERR_SYS;
    } else {
        put_address((struct sockaddr *)&addr, out);
    }
    if (fd >= 0) {
        close(fd);
    }
    freeaddrinfo(list);
    return err;
}

int pli_impi_sock_error(int fd)
{
    int err = 0;
    socklen_t len = sizeof err;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 ? err : errno;
}

enum pli_impi_err pli_impi_sock_write(int fd, const struct iovec *iov, int n, size_t *len_out)
{
    struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
    ssize_t len = sendmsg(fd, &msg, MSG_NOSIGNAL);
    if (len < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? PLI_IMPI_AGAIN
                                                                         : PLI_IMPI_ERR_SYS;
    }
    *len_out = (size_t)len;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_peek(int fd, unsigned char *byte_out)
{
    ssize_t n = recv(fd, byte_out, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? PLI_IMPI_AGAIN
                                                                         : PLI_IMPI_ERR_SYS;
    }
    return n == 0 ? PLI_IMPI_ERR_PEER : PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_sock_read(int fd, const struct iovec *iov, int n, size_t *len_out)
{
    ssize_t len = readv(fd, iov, n);
    if (len < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? PLI_IMPI_AGAIN
                                                                         : PLI_IMPI_ERR_SYS;
    }
    *len_out = (size_t)len;
    return len == 0 ? PLI_IMPI_ERR_PEER : PLI_IMPI_OK;
}

void pli_impi_sock_text(const unsigned char addr[PLI_IMPI_HOSTID], uint16_t port, char text[64])
{
    char host[INET6_ADDRSTRLEN] = "?";
    bool is_v4 = pli_impi_label_is_ipv4(addr);
    inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? addr + 12 : addr, host, sizeof host);
    snprintf(text, 64, is_v4 ? "%s:%u" : "[%s]:%u", host, port);
}
