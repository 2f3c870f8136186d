// SPDX-License-Identifier: BSD-3-Clause
// The speed of the network itself: two ranks use a TCP socket of their own and poll it, without MPI
// in between. Rank 0 listens and tells rank 1 the address; both then run the ping-pong of lat.c and
// the stream of bw.c.
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { WINDOW_BYTES = 8 << 20 };

static int sock = -1;

// An address of this host that another may reach; the loopback when it has no other, or when all
// ranks are on one host.
static in_addr_t my_address(int is_local)
{
    in_addr_t found = htonl(INADDR_LOOPBACK);
    struct ifaddrs *all;
    if (is_local || getifaddrs(&all) != 0) {
        return found;
    }
    for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
            (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0) {
            found = ((struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr;
        }
    }
    freeifaddrs(all);
    return found;
}

static int is_one_host(void)
{
    char mine[MPI_MAX_PROCESSOR_NAME] = "", other[MPI_MAX_PROCESSOR_NAME] = "";
    int len, me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Get_processor_name(mine, &len);
    MPI_Sendrecv(mine, sizeof mine, MPI_BYTE, 1 - me, 3, other, sizeof other, MPI_BYTE, 1 - me, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return strcmp(mine, other) == 0;
}

static void meet_on_socket(int me)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t len = sizeof a;
    int is_local = is_one_host(), yes = 1;
    if (me == 0) {
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        a.sin_addr.s_addr = my_address(is_local);
        if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) != 0 ||
            listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&a, &len) != 0) {
            b_die("cannot listen");
        }
        MPI_Send(&a, sizeof a, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
        sock = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MPI_Recv(&a, sizeof a, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sock = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(sock, (struct sockaddr *)&a, sizeof a) != 0) {
            b_die("cannot connect");
        }
    }
    if (sock < 0 || setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        fcntl(sock, F_SETFL, O_NONBLOCK) != 0) {
        b_die("cannot set up the socket");
    }
}

static void put(const unsigned char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = send(sock, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno != EAGAIN) {
            b_die("cannot send");
        }
        p += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
}

static void get(unsigned char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = recv(sock, p, n, 0);
        if (k == 0 || (k < 0 && errno != EAGAIN)) {
            b_die("cannot receive");
        }
        p += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
}

struct pair {
    unsigned char *buf;
    size_t size;
    int window;
};

static void ping_pong(int me, int iters, void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            put(p->buf, p->size);
            get(p->buf, p->size);
        } else {
            get(p->buf, p->size);
            put(p->buf, p->size);
        }
    }
}

static void windows(int me, int iters, void *arg)
{
    struct pair *p = arg;
    unsigned char byte = 0;
    for (int i = 0; i < iters; i++) {
        for (int w = 0; w < p->window; w++) {
            if (me == 0) {
                put(p->buf + (size_t)w * p->size, p->size);
            } else {
                get(p->buf + (size_t)w * p->size, p->size);
            }
        }
        if (me == 0) {
            get(&byte, 1);
        } else {
            put(&byte, 1);
        }
    }
}

int main(int argc, char **argv)
{
    static const long usual[] = { 8, 1024, 65536, 1048576 };
    int me = b_start(&argc, &argv, 2);
    long sizes[64];
    int n = b_sizes(argc, argv, usual, sizeof usual / sizeof usual[0], sizes, 64);
    meet_on_socket(me);
    for (int i = 0; i < n; i++) {
        int window = (int)(WINDOW_BYTES / sizes[i]);
        window = window < 4 ? 4 : window > 64 ? 64 : window;
        struct pair p = { b_alloc((size_t)sizes[i] * (size_t)window), (size_t)sizes[i], window };
        double lat = b_measure(me, ping_pong, &p, 0.01);
        double bw = b_measure(me, windows, &p, 0.02);
        if (me == 0) {
            char params[64];
            snprintf(params, sizeof params, "size=%ld ranks=2", sizes[i]);
            b_report("raw_lat", params, lat / 2 * 1e6, "us");
            b_report("raw_bw", params, (double)p.size * window / bw / 1e9, "GB/s");
        }
        free(p.buf);
    }
    close(sock);
    MPI_Finalize();
    return 0;
}
