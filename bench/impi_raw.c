// SPDX-License-Identifier: BSD-3-Clause
// What TCP itself does, for bench/impi.py; and a relay that holds everything back for a while.
//   impi_raw lat ITERATIONS                prints microseconds one way
//   impi_raw bw COUNT WINDOW [THROUGH PORT]   prints MB/s of COUNT messages of 4 MiB from WINDOW
//                                          buffers in turn; the connection is made to this address
//   impi_raw relay ADDRESS PORT MS         from there to 127.0.0.1, until killed
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 4096 * 1024, // as large as the messages it is compared with
    PART = 64 * 1024,    // of a stream in the relay
    MAX_PART = 8192,
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(int is_good, const char *what)
{
    if (!is_good) {
        perror(what);
        exit(1);
    }
}

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

static int listen_at(const char *address, int port, int *port_out)
{
    struct sockaddr_in a = at(address, port);
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
    all(fd, buf, PIECE, is_first);
    all(fd, &word, 1, !is_first);
    double begin = now();
    for (size_t i = 0; i < count; i++) {
        all(fd, buf + i % window * PIECE, PIECE, is_first);
    }
    all(fd, &word, 1, !is_first);
    free(buf);
    return (double)count * PIECE / (now() - begin) / 1e6;
}

// One direction of a connection: pieces that wait for their time.
struct pipe {
    int from, to;
    struct piece {
        double due;
        size_t len, sent;
        char *data;
    } piece[MAX_PART];
    int first, n;
    int is_over, is_shut; // its end was read; and passed on
};

static void take(struct pipe *p, double delay)
{
    struct piece *k = &p->piece[(p->first + p->n) % MAX_PART];
    if (k->data == NULL) {
        k->data = malloc(PART);
        must(k->data != NULL, "memory");
    }
    ssize_t n = recv(p->from, k->data, PART, MSG_DONTWAIT);
    p->is_over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    if (n > 0) {
        k->len = (size_t)n;
        k->sent = 0;
        k->due = now() + delay;
        p->n++;
    }
}

static void give(struct pipe *p)
{
    while (p->n > 0 && p->piece[p->first].due <= now()) {
        struct piece *k = &p->piece[p->first];
        ssize_t n = send(p->to, k->data + k->sent, k->len - k->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n < 0) { // the other side has closed
            p->n = 0;
            p->is_over = 1;
            break;
        }
        k->sent += (size_t)n;
        if (k->sent == k->len) {
            p->first = (p->first + 1) % MAX_PART;
            p->n--;
        }
    }
    if (p->n == 0 && p->is_over && !p->is_shut) { // the last piece has had its time
        p->is_shut = 1;
        shutdown(p->to, SHUT_WR);
    }
}

static void relay(int a, int b, double delay)
{
    static struct pipe pipes[2];
    pipes[0] = (struct pipe){ .from = a, .to = b };
    pipes[1] = (struct pipe){ .from = b, .to = a };
    while (!pipes[0].is_shut || !pipes[1].is_shut) {
        struct pollfd w[4];
        double wait = 1;
        for (int i = 0; i < 2; i++) {
            struct pipe *p = &pipes[i];
            double left = p->n > 0 ? p->piece[p->first].due - now() : 1;
            w[2 * i] = (struct pollfd){ .fd = p->n < MAX_PART && !p->is_over ? p->from : -1,
                                        .events = POLLIN };
            w[2 * i + 1] =
                (struct pollfd){ .fd = p->n > 0 && left <= 0 ? p->to : -1, .events = POLLOUT };
            wait = left > 0 && left < wait ? left : wait;
        }
        poll(w, 4, (int)(wait * 1e3) + (wait < 1e-3));
        for (int i = 0; i < 2; i++) {
            if (w[2 * i].revents != 0) {
                take(&pipes[i], delay);
            }
            give(&pipes[i]);
        }
    }
}

static void be_relay(const char *address, int port, double delay)
{
    int fd = listen_at(address, port, &port);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a bench that is killed leaves nothing behind
    for (;;) {
        int a = accept(fd, NULL, NULL);
        must(a >= 0, "accept");
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            relay(without_delay(a), dial("127.0.0.1", port), delay);
            exit(0);
        }
        close(a);
    }
}

int main(int argc, char **argv)
{
    int port = argc > 5 ? atoi(argv[5]) : 0, is_lat = argc > 1 && strcmp(argv[1], "lat") == 0;
    if (argc > 4 && strcmp(argv[1], "relay") == 0) {
        be_relay(argv[2], atoi(argv[3]), atof(argv[4]) / 1e3);
    }
    if (argc < (is_lat ? 3 : 4)) {
        return 2;
    }
    int fd = listen_at("127.0.0.1", port, &port);
    pid_t child = fork();
    int end = child != 0 ? dial(argc > 5 ? argv[4] : "127.0.0.1", port)
                         : without_delay(accept(fd, NULL, NULL));
    double x = is_lat ? ping_pong(end, child != 0, atol(argv[2]))
                      : stream(end, child != 0, (size_t)atol(argv[2]), (size_t)atol(argv[3]));
    if (child != 0) {
        printf("%.4f\n", x);
        close(end);
        waitpid(child, NULL, 0);
    }
    return 0;
}
