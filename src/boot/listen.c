// SPDX-License-Identifier: BSD-3-Clause
// Binds to the first free port.
#include "boot/listen.h"

#include "base/conf.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 }; // the system cuts it to its own limit

// Make this socket a listening one at its address; it is closed when that fails. errno stays.
static int settle(int fd, const struct sockaddr *a, socklen_t len)
{
    int yes = 1;
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
                    bind(fd, a, len) != 0 || listen(fd, BACKLOG) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

// Bind to one port, or any (0). The descriptor, or -1.
static int listen_at(bool is_wide, uint16_t port)
{
    int fd = is_wide ? socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    int no = 0;
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) {
        close(fd);
        fd = -1;
    }
    fd = settle(fd, (struct sockaddr *)&six, sizeof six);
    if (fd >= 0 || (is_wide && errno == EADDRINUSE)) {
        return fd; // with IPv4 alone at this port, calls by IPv6 would reach another process
    }
    // No IPv6 in this kernel, or not asked for.
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
    four.sin_addr.s_addr = htonl(is_wide ? INADDR_ANY : INADDR_LOOPBACK);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return settle(fd, (struct sockaddr *)&four, sizeof four);
}

static enum pli_err read_range(const char *text, unsigned *low, unsigned *high)
{
    int end = 0;
    *low = *high = 0;
    if (text[0] != '\0' &&
        ((sscanf(text, "%u-%u%n", low, high, &end) != 2 && sscanf(text, "%u%n", low, &end) != 1) ||
         text[end] != '\0' || *low < 1 || (*high = *high != 0 ? *high : *low) > 65535 ||
         *low > *high)) {
        return pli_fail(PLI_ERR_OTHER,
                        "PLIANT_TCP_PORTS=%s is not a range of ports, such as 40000-40100", text);
    }
    return PLI_OK;
}

enum pli_err pli_listen_open(bool is_wide, int *fd_out, uint16_t *port_out)
{
    const char *ports = pli_conf.tcp_ports;
    unsigned low, high;
    enum pli_err err = read_range(ports, &low, &high);
    if (err != PLI_OK) {
        return err;
    }
    int fd = -1;
    for (unsigned port = low; port <= high && fd < 0; port++) {
        fd = listen_at(is_wide, (uint16_t)port);
    }
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        err = errno == EADDRINUSE && ports[0] != '\0'
                  ? pli_fail(PLI_ERR_OTHER,
                             "cannot listen for ranks on the ports %s: all are in use on this "
                             "host, by other jobs perhaps; name more in PLIANT_TCP_PORTS",
                             ports)
                  : pli_fail(PLI_ERR_OTHER, "cannot listen for ranks%s%s: %s",
                             ports[0] != '\0' ? " on the ports " : "", ports, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return err;
    }
    *fd_out = fd;
    if (port_out != NULL) {
        *port_out = ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                                  : ((struct sockaddr_in *)&a)->sin_port);
    }
    return PLI_OK;
}
