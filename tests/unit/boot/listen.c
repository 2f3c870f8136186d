// SPDX-License-Identifier: BSD-3-Clause
// Listeners of several jobs have one range of ports: each takes the next that is free for all
// addresses, and a process that finds none is told what to do.
#include "boot/listen.h"

#include "base/conf.h"
#include "t.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N = 3, TRIES = 50 };

// A listener for IPv6 alone at any port; -1: there is no IPv6.
static int listen_six(uint16_t *port)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    struct sockaddr_in6 a = { .sin6_family = AF_INET6 };
    socklen_t len = sizeof a;
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(a.sin6_port);
    return fd;
}

static void set_range(unsigned low, unsigned high)
{
    static char text[32];
    snprintf(text, sizeof text, "%u-%u", low, high);
    pli_conf.tcp_ports = text;
}

// N listeners in a range of N ports. False: other programs have one of them.
static bool fills_range(unsigned low)
{
    int fds[N], more = -1, n = 0;
    uint16_t ports[N] = { 0 };
    set_range(low, low + N - 1);
    while (n < N && pli_listen_open(n % 2 == 0, &fds[n], &ports[n]) == PLI_OK) {
        T_OK(ports[n] >= low && ports[n] < low + N);
        for (int i = 0; i < n; i++) {
            T_OK(ports[i] != ports[n]);
        }
        n++;
    }
    bool is_full = n == N;
    if (is_full) {
        T_OK(pli_listen_open(true, &more, NULL) != PLI_OK);
    }
    T_HAS(pli_fail_take(NULL), "name more in PLIANT_TCP_PORTS");
    while (n > 0) {
        close(fds[--n]);
    }
    return is_full;
}

int main(void)
{
    pli_conf_load();
    unsigned low = 20000 + (unsigned)getpid() % 10000;
    int tries = 0;
    while (tries < TRIES && !fills_range(low + (unsigned)tries * N)) {
        tries++;
    }
    T_OK(tries < TRIES);
    uint16_t port = 0;
    int six = listen_six(&port), fd = -1;
    if (six >= 0) { // IPv4 at this port is free, but that is not enough
        set_range(port, port);
        T_OK(pli_listen_open(true, &fd, NULL) != PLI_OK);
        T_HAS(pli_fail_take(NULL), "in use");
        close(six);
    }
    return t_status();
}
