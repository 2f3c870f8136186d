// SPDX-License-Identifier: BSD-3-Clause
// What TCP itself does, for bench/impi.py.
//   impi_raw lat ITERATIONS     prints microseconds one way
//   impi_raw bw COUNT WINDOW [ADDRESS PID PID]
//                               prints MB/s of COUNT messages of 4 MiB from WINDOW buffers in turn;
//                               to this address in the network of the first of these processes,
//                               from that of the second
#include "impi_tools.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 4096 * 1024, // as large as the messages it is compared with
};

static struct sockaddr_in at(const char *address, int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
    must(inet_pton(AF_INET, address, &a.sin_addr) == 1, address);
    return a;
}

static int without_delay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static int listen_at(const char *address, int *port_out)
{
    struct sockaddr_in a = at(address, 0);
    socklen_t len = sizeof a;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    must(bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0, "listen");
    getsockname(fd, (struct sockaddr *)&a, &len);
    *port_out = ntohs(a.sin_port);
    return fd;
}

static int dial(const char *address, int port)
{
    struct sockaddr_in a = at(address, port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "connect");
    return without_delay(fd);
}

static void all(int fd, char *buf, size_t len, int is_out)
{
    while (len > 0) {
        ssize_t n = is_out ? write(fd, buf, len) : read(fd, buf, len);
        must(n > 0, "the connection");
        buf += n;
        len -= (size_t)n;
    }
}

static double ping_pong(int fd, int is_first, long n)
{
    char buf[8] = { 0 };
    double begin = 0;
    for (long i = -n / 10; i < n; i++) {
        if (i == 0) {
            begin = now();
        }
        all(fd, buf, sizeof buf, is_first);
        all(fd, buf, sizeof buf, !is_first);
    }
    return (now() - begin) / (double)n / 2 * 1e6;
}

// From and to as much memory as the messages it is compared with have, all of it touched.
static double stream(int fd, int is_first, size_t count, size_t window)
{
    char *buf = malloc(window * PIECE), word = 0;
    must(buf != NULL, "memory");
    memset(buf, 1, window * PIECE);
    for (size_t i = 0; i < window; i++) { // to warm up, as the others do
        all(fd, buf + i * PIECE, PIECE, is_first);
    }
    all(fd, &word, 1, !is_first);
    double begin = now();
    for (size_t i = 0; i < count; i++) {
        all(fd, buf + i % window * PIECE, PIECE, is_first);
    }
    all(fd, &word, 1, !is_first);
    free(buf);
    return (double)count * PIECE / (now() - begin) / 1e6;
}

// Into the network of another process.
static void move_to(const char *pid)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%s/ns/net", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, name);
    close(fd);
}

int main(int argc, char **argv)
{
    bool is_lat = argc > 1 && strcmp(argv[1], "lat") == 0, is_far = argc > 6;
    int port;
    if (argc < (is_lat ? 3 : 4)) {
        return 2;
    }
    if (is_far) {
        move_to(argv[5]);
    }
    const char *address = is_far ? argv[4] : "127.0.0.1";
    int fd = listen_at(address, &port);
    pid_t child = fork();
    if (is_far && child != 0) {
        move_to(argv[6]);
    }
    int end = child != 0 ? dial(address, port) : without_delay(accept(fd, NULL, NULL));
    double x = is_lat ? ping_pong(end, child != 0, atol(argv[2]))
                      : stream(end, child != 0, (size_t)atol(argv[2]), (size_t)atol(argv[3]));
    if (child != 0) {
        printf("%.4f\n", x);
        close(end);
        waitpid(child, NULL, 0);
    }
    return 0;
}
