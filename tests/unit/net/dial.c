// SPDX-License-Identifier: BSD-3-Clause
// Calling a listener that this test plays: one address after the other, over IPv4 and IPv6; ones
// that refuse, that say nothing, that hang up, that do not know the secret.
#include "net/tcp/dial.h"

#include "boot/address.h"
#include "boot/handshake.h"
#include "msg/statistics_hooks.h"
#include "t.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static const unsigned char secret[PLI_HANDSHAKE_SECRET] = "the secret of this job, 32 bytes";
static const unsigned char other[PLI_HANDSHAKE_SECRET] = "some secret of another, 32 bytes";

enum how { GOOD, SILENT, HANGS_UP, STRANGER, NONSENSE, PASSES_ON };

static int listen_on(int family, uint16_t *port)
{
    struct sockaddr_storage a = { .ss_family = (sa_family_t)family };
    socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (family == AF_INET) {
        ((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ((struct sockaddr_in *)&a)->sin_port = htons(*port);
    } else {
        ((struct sockaddr_in6 *)&a)->sin6_addr = in6addr_loopback;
        ((struct sockaddr_in6 *)&a)->sin6_port = htons(*port);
    }
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, 8) != 0) {
        return -1;
    }
    len = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &len);
    *port = ntohs(family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                    : ((struct sockaddr_in6 *)&a)->sin6_port);
    return fd;
}

// The listener's side, as far as it can go now.
struct host {
    int listener, fd;
    enum how how;
    struct pli_handshake_open open;
    struct pli_handshake_reply reply;
    struct pli_handshake_join join;
    size_t n_open, n_join;
    int n_drop; // calls to hang up on at once
    bool is_joined;
};

static void serve(struct host *h)
{
    if (h->fd < 0) {
        h->fd = accept4(h->listener, NULL, NULL, SOCK_NONBLOCK);
        if (h->fd < 0 || h->how == SILENT) {
            return;
        }
        if (h->n_drop > 0) {
            close(h->fd);
            h->fd = -1;
            h->n_drop--;
            return;
        }
        if (h->how == HANGS_UP) {
            shutdown(h->fd, SHUT_RDWR);
        } else if (h->how == NONSENSE) {
            char page[100] = "HTTP/1.1 400 Bad Request\r\n\r\n";
            T_OK(send(h->fd, page, sizeof page, MSG_NOSIGNAL) > 0);
        }
    }
    if (h->how != GOOD && h->how != STRANGER && h->how != PASSES_ON) {
        return;
    }
    if (h->n_open < sizeof h->open) {
        ssize_t n = recv(h->fd, (char *)&h->open + h->n_open, sizeof h->open - h->n_open, 0);
        h->n_open += n > 0 ? (size_t)n : 0;
        if (h->n_open == sizeof h->open) {
            struct pli_handshake_place here;
            pli_handshake_place_here(h->fd, &here);
            here.port ^= (uint16_t)(h->how == PASSES_ON);
            T_EQ(pli_handshake_reply(h->how == STRANGER ? other : secret, &here, &h->open,
                                     &h->reply),
                 PLI_OK);
            // In two pieces.
            T_OK(send(h->fd, &h->reply, 5, MSG_NOSIGNAL) == 5);
            T_OK(send(h->fd, (char *)&h->reply + 5, sizeof h->reply - 5, MSG_NOSIGNAL) > 0);
        }
    } else if (h->n_join < sizeof h->join) {
        ssize_t n = recv(h->fd, (char *)&h->join + h->n_join, sizeof h->join - h->n_join, 0);
        h->n_join += n > 0 ? (size_t)n : 0;
        struct pli_handshake_place here;
        pli_handshake_place_here(h->fd, &here);
        h->is_joined = h->n_join == sizeof h->join &&
                       pli_handshake_check_join(secret, &here, &h->open, &h->reply, &h->join);
    }
}

static enum pli_err go(struct pli_node_host *there, struct host *h, int *fd_out)
{
    struct pli_node_host here = *there;
    struct pli_dial *d;
    struct pli_dial_call call = { .secret = secret,
                                  .here = &here,
                                  .there = there,
                                  .port = there->port,
                                  .from = 3,
                                  .to = 9,
                                  .lane = 1,
                                  .to_lane = 2,
                                  .timeout_ns = 300000000 };
    *fd_out = -1;
    enum pli_err err = pli_dial_open(&call, &d);
    if (err != PLI_OK) {
        return err;
    }
    for (int i = 0; i < 5000 && (err = pli_dial_step(d)) == PLI_AGAIN; i++) {
        T_OK(pli_dial_fd(d) >= 0 || pli_dial_until(d) != UINT64_MAX);
        serve(h);
        poll(NULL, 0, 1);
    }
    if (err == PLI_OK) {
        *fd_out = pli_dial_take(d);
        for (int i = 0; i < 1000 && !h->is_joined; i++) {
            serve(h);
            poll(NULL, 0, 1);
        }
    }
    pli_dial_close(d);
    return err;
}

static struct pli_node_addr six(void)
{
    return (struct pli_node_addr){ .family = 6, .prefix = 128, .bytes = { [15] = 1 } };
}

static void reaches(int family, enum how how, const char *why)
{
    struct pli_node_host there = { .name = "there", .n_addr = 1 };
    struct host h = { .fd = -1, .how = how };
    h.listener = listen_on(family, &there.port);
    if (h.listener < 0 && family == AF_INET6) {
        printf("no IPv6 here\n");
        return;
    }
    there.addr[0] = family == AF_INET ? pli_address_loopback() : six();
    int fd;
    enum pli_err err = go(&there, &h, &fd);
    if (why == NULL) {
        T_EQ(err, PLI_OK);
        T_OK(h.is_joined && h.join.from == 3 && h.join.to == 9 && h.join.lane == 1 &&
             h.join.to_lane == 2);
        T_EQ(pli_dial_tune(fd, 6), PLI_OK);
        T_OK(send(fd, "x", 1, MSG_NOSIGNAL) == 1);
    } else {
        T_OK(err != PLI_OK && err != PLI_AGAIN);
        T_HAS(pli_fail_take(NULL), why);
    }
    close(fd);
    close(h.fd);
    close(h.listener);
}

// The first address refuses; the second is good.
static void second(void)
{
    struct pli_node_host there = { .name = "there", .n_addr = 2 };
    struct host h = { .fd = -1, .how = GOOD };
    int fd;
    h.listener = listen_on(AF_INET, &there.port);
    there.addr[0] = pli_address_loopback();
    there.addr[0].bytes[3] = 2; // 127.0.0.2: nobody listens there
    there.addr[1] = pli_address_loopback();
    T_EQ(go(&there, &h, &fd), PLI_OK);
    close(fd);
    close(h.fd);
    close(h.listener);
    h.fd = -1;
    T_OK(go(&there, &h, &fd) != PLI_OK); // now neither
    const char *text = pli_fail_take(NULL);
    T_HAS(text, "host there cannot be reached");
    T_HAS(text, "127.0.0.2");
    T_HAS(text, "127.0.0.1");
    there.n_addr = 0;
    T_OK(go(&there, &h, &fd) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "no address");
}

// A listener that is overrun with calls hangs up on some; they call again.
static void overrun(void)
{
    struct pli_node_host there = { .name = "there",
                                   .n_addr = 1,
                                   .addr = { pli_address_loopback() } };
    struct host h = { .fd = -1, .how = GOOD, .n_drop = 4 };
    int fd;
    h.listener = listen_on(AF_INET, &there.port);
    uint32_t before = atomic_load(&pli_statistics_n_retry);
    T_EQ(go(&there, &h, &fd), PLI_OK);
    T_EQ(h.n_drop, 0);
    T_EQ(atomic_load(&pli_statistics_n_retry) - before, 4);
    T_OK(h.is_joined);
    close(fd);
    close(h.fd);
    h = (struct host){ .listener = h.listener, .fd = -1, .how = GOOD, .n_drop = 1000000 };
    T_OK(go(&there, &h, &fd) != PLI_OK); // but not for ever
    T_HAS(pli_fail_take(NULL), "127.0.0.1");
    close(h.listener);
}

int main(void)
{
    overrun();
    reaches(AF_INET, GOOD, NULL);
    reaches(AF_INET6, GOOD, NULL);
    reaches(AF_INET, SILENT, "does not greet");
    reaches(AF_INET, HANGS_UP, "127.0.0.1");
    reaches(AF_INET, STRANGER, "another job");
    reaches(AF_INET, PASSES_ON, "passes calls on to another address");
    reaches(AF_INET, NONSENSE, "not Pliant MPI");
    second();
    T_OK(pli_dial_tune(0, 6) != PLI_OK); // not a connection
    return t_status();
}
