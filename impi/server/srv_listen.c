// SPDX-License-Identifier: BSD-3-Clause
// The server's listening socket and the address it tells.
#include "server/srv_listen.h"
#include "engine/impi_sock.h"
#include "server/srv_conf.h"
#include "server/srv_log.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void join_port(const char *host, unsigned port, char text_out[PLI_SRV_ADDRESS])
{
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(text_out, PLI_SRV_ADDRESS, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}

static unsigned port_of(const struct sockaddr *addr)
{
    return addr->sa_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)(const void *)addr)->sin6_port)
               : ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
}

static void host_of(const struct sockaddr *addr, char out[INET6_ADDRSTRLEN])
{
    if (addr->sa_family == AF_INET6) {
        const struct in6_addr *a = &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(a)) {
            inet_ntop(AF_INET, a->s6_addr + 12, out, INET6_ADDRSTRLEN);
        } else {
            inet_ntop(AF_INET6, a, out, INET6_ADDRSTRLEN);
        }
    } else {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, out,
                  INET6_ADDRSTRLEN);
    }
}

void pli_srv_listen_text(const struct sockaddr *addr, char text_out[PLI_SRV_ADDRESS])
{
    char host[INET6_ADDRSTRLEN] = "?";
    host_of(addr, host);
    join_port(host, port_of(addr), text_out);
}

// An address of ours that others can reach: the first of an interface that is up, IPv4 before
// IPv6, loopback only if there is nothing else.
static void own_address(char out[INET6_ADDRSTRLEN])
{
    struct ifaddrs *all = NULL;
    bool has_v6 = false;
    snprintf(out, INET6_ADDRSTRLEN, "127.0.0.1");
    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr == NULL || (i->ifa_flags & IFF_UP) == 0 ||
            (i->ifa_flags & IFF_LOOPBACK) != 0) {
            continue;
        }
        if (i->ifa_addr->sa_family == AF_INET) {
            host_of(i->ifa_addr, out);
            break;
        }
        if (i->ifa_addr->sa_family == AF_INET6 && !has_v6 &&
            !IN6_IS_ADDR_LINKLOCAL(
                &((const struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr)) {
            host_of(i->ifa_addr, out);
            has_v6 = true;
        }
    }
    freeifaddrs(all);
}

static void to_log(void *arg, enum pli_impi_log_level level, const char *line)
{
    (void)arg;
    pli_srv_log(level == PLI_IMPI_LOG_ERROR ? PLI_SRV_ERROR : PLI_SRV_INFO, "%s", line);
}

enum pli_impi_err pli_srv_listen_open(const struct pli_srv_conf *conf, int *fd_out,
                                      char text_out[PLI_SRV_ADDRESS])
{
    struct pli_impi_log log = { to_log, NULL };
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    char host[INET6_ADDRSTRLEN];
    uint16_t port;
    int fd;
    enum pli_impi_err err =
        pli_impi_sock_listen(conf->bind, (uint16_t)conf->port, &log, &fd, &port);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    if (conf->address != NULL) {
        join_port(conf->address, port, text_out);
    } else if (conf->bind == NULL || getsockname(fd, (struct sockaddr *)&addr, &len) != 0) {
        own_address(host);
        join_port(host, port, text_out);
    } else {
        pli_srv_listen_text((struct sockaddr *)&addr, text_out);
    }
    if (conf->has_token) { // the token holds the address
        struct pli_impi_token token = conf->token;
        char *colon = strrchr(text_out, ':');
        bool is_v6 = text_out[0] == '[';
        snprintf(token.host, sizeof token.host, "%.*s", (int)(colon - text_out) - 2 * is_v6,
                 text_out + is_v6);
        token.port = port;
        pli_impi_token_put(&token, text_out);
    }
    *fd_out = fd;
    return PLI_IMPI_OK;
}
