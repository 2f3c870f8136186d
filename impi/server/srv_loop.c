// SPDX-License-Identifier: BSD-3-Clause
// The server's event loop. Nothing in it waits for one client: sockets are non-blocking, and each
// turn takes a bounded amount from each connection.
#include "server/srv_loop.h"
#include "engine/impi_stream.h"
#include "server/srv_conf.h"
#include "server/srv_listen.h"
#include "server/srv_log.h"
#include "wire/impi_cmd_wire.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_RELAY = 1024, // connections
    MAX_CONN = 2 * PLI_SRV_MAX_PENDING + PLI_IMPI_MAX_CLIENT + MAX_RELAY,
    READ_SIZE = 65536,
    LINGER_MS = 1000, // for a refused client to read why
    PUMPS = 16,       // reads of a relayed connection in a turn
    RETRY_MS = 100,   // after accept failed for want of descriptors
};

struct conn {
    struct pli_impi_stream s;
    struct pli_srv_peer *peer;
    bool is_shut;           // nothing more will be written
    uint64_t close_ms;      // when to stop lingering
    unsigned char *relayed; // what the other side of a relay has said, and is to be written here
    size_t at, n;           // what of it
    bool is_ended;          // a relayed connection from which nothing more comes
};

struct loop {
    const struct pli_srv_conf *conf;
    struct pli_srv_job *job;
    int listen_fd;
    uint64_t now, accept_ms; // accept again from then on
    struct conn conn[MAX_CONN];
    int n_conn;
    bool is_pumping; // a relayed connection may have more to be read at once
    unsigned char buf[READ_SIZE];
};

static volatile sig_atomic_t is_told_to_end;

void pli_srv_loop_stop(int sig)
{
    is_told_to_end = sig;
}

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void close_conn(struct loop *l, int i)
{
    free(l->conn[i].relayed);
    pli_impi_stream_close(&l->conn[i].s);
    pli_srv_job_reap(l->job, l->conn[i].peer);
    l->conn[i] = l->conn[--l->n_conn];
}

// Make room for one more: a connection that only lingers goes first.
static bool make_room(struct loop *l)
{
    for (int i = 0; l->n_conn == MAX_CONN && i < l->n_conn; i++) {
        if (!pli_srv_job_is_open(l->conn[i].peer)) {
            close_conn(l, i);
        }
    }
    return l->n_conn < MAX_CONN;
}

static void accept_some(struct loop *l)
{
    while (make_room(l)) {
        struct sockaddr_storage addr = { 0 };
        socklen_t len = sizeof addr;
        char name[PLI_SRV_ADDRESS];
        int on = 1;
        int fd =
            accept4(l->listen_fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR &&
                errno != ECONNABORTED) {
                pli_srv_log(PLI_SRV_WARN, "cannot accept a connection: %s", strerror(errno));
                l->accept_ms = l->now + RETRY_MS;
            }
            return;
        }
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on,
                         sizeof on); // only finds the dead sooner
        pli_srv_listen_text((struct sockaddr *)&addr, name);
        struct conn c = { 0 };
        if (pli_impi_stream_open(&c.s, fd, l->conf->tls, false) != PLI_IMPI_OK) {
            return;
        }
        if (pli_srv_job_admit(l->job, name, l->now, &c.peer) != PLI_IMPI_OK) {
            pli_impi_stream_close(&c.s);
            return;
        }
        l->conn[l->n_conn++] = c;
    }
}

static void drop_client(struct loop *l, struct conn *c, const char *why)
{
    pli_srv_job_lost(l->job, c->peer, why);
    c->close_ms = l->now;
    c->is_shut = true;
}

static const char *reason(enum pli_impi_err err, bool is_by_key)
{
    switch (err) {
    case PLI_IMPI_ERR_AUTH:
        return is_by_key ? "the wrong key" : "another TLS secret, or no TLS";
    case PLI_IMPI_ERR_PEER:
        return NULL;
    default:
        return strerror(errno);
    }
}

static void read_conn(struct loop *l, struct conn *c)
{
    do {
        struct iovec iov = { l->buf, sizeof l->buf };
        size_t n = 0;
        enum pli_impi_err err = pli_impi_stream_read(&c->s, &iov, 1, &n);
        if (err == PLI_IMPI_OK) {
            pli_srv_job_input(l->job, c->peer, l->buf, n);
        } else if (err != PLI_IMPI_AGAIN) {
            drop_client(l, c, reason(err, l->conf->tls == NULL));
        }
    } while (!c->is_shut && pli_impi_stream_has_more(&c->s));
}

static void write_conn(struct loop *l, struct conn *c)
{
    const unsigned char *p;
    size_t len;
    while (!c->is_shut && (len = pli_srv_job_output(l->job, c->peer, &p)) > 0) {
        struct iovec iov = { (void *)(uintptr_t)p, len };
        size_t n = 0;
        enum pli_impi_err err = pli_impi_stream_write(&c->s, &iov, 1, &n);
        if (err == PLI_IMPI_OK) {
            pli_srv_job_wrote(c->peer, n);
        } else if (err == PLI_IMPI_AGAIN) {
            return;
        } else {
            drop_client(l, c, reason(err, l->conf->tls == NULL));
        }
    }
    if (!c->is_shut && pli_srv_job_turns_to_tls(c->peer)) {
        if (pli_impi_stream_secure(&c->s, l->conf->key_tls, false) != PLI_IMPI_OK) {
            drop_client(l, c, "no memory for TLS");
            return;
        }
        pli_srv_job_is_tls(c->peer);
    }
}

static struct conn *mate_of(struct loop *l, const struct conn *c)
{
    const struct pli_srv_peer *mate = pli_srv_job_mate(c->peer);
    for (int i = 0; mate != NULL && i < l->n_conn; i++) {
        if (l->conn[i].peer == mate) {
            return &l->conn[i];
        }
    }
    return NULL;
}

// Write what is kept for one side of a relay. False: not all could be.
static bool push(struct loop *l, struct conn *to)
{
    while (to->n > to->at) {
        struct iovec iov = { to->relayed + to->at, to->n - to->at };
        size_t n = 0;
        enum pli_impi_err err = pli_impi_stream_write(&to->s, &iov, 1, &n);
        if (err == PLI_IMPI_AGAIN) {
            return false;
        }
        if (err != PLI_IMPI_OK) {
            drop_client(l, to, reason(err, false));
            return false;
        }
        to->at += n;
    }
    to->at = to->n = 0;
    return true;
}

// Pass on what one side of a relay says. Nothing is read while the other side does not take what
// was, so a slow one costs no memory. True: there may be more at once.
static bool pump(struct loop *l, struct conn *from, struct conn *to)
{
    const unsigned char *p;
    if (pli_srv_job_output(l->job, to->peer, &p) > 0) {
        return false; // that the relay is there comes first
    }
    for (int i = 0; i < PUMPS; i++) {
        if (!push(l, to)) {
            return false;
        }
        if (from->is_ended) {
            drop_client(l, from, NULL);
            to->close_ms = l->now;
            return false;
        }
        if (to->relayed == NULL) {
            to->relayed = malloc(READ_SIZE);
        }
        struct iovec iov = { to->relayed, READ_SIZE };
        enum pli_impi_err err = to->relayed == NULL
                                    ? PLI_IMPI_ERR_NOMEM
                                    : pli_impi_stream_read(&from->s, &iov, 1, &to->n);
        if (err == PLI_IMPI_AGAIN) {
            to->n = 0;
            return false;
        }
        if (err != PLI_IMPI_OK) {
            to->n = 0;
            from->is_ended = true;
        }
    }
    return true;
}

// Close what is over. A refused client gets what was written for it, and a moment to read it.
static void free_closed(struct loop *l)
{
    const unsigned char *p;
    for (int i = l->n_conn - 1; i >= 0; i--) {
        struct conn *c = &l->conn[i];
        if (pli_srv_job_is_open(c->peer)) {
            continue;
        }
        if (c->close_ms == 0) {
            c->close_ms = l->now + LINGER_MS;
        }
        if (!c->is_shut && pli_srv_job_output(l->job, c->peer, &p) == 0) {
            shutdown(c->s.fd, SHUT_WR);
            c->is_shut = true;
        }
        if (l->now >= c->close_ms) {
            close_conn(l, i);
        }
    }
    if (l->listen_fd >= 0 && !pli_srv_job_wants_more(l->job)) {
        close(l->listen_fd);
        l->listen_fd = -1;
    }
}

static int sooner(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void turn(struct loop *l)
{
    static struct pollfd pfd[MAX_CONN + 1];
    const unsigned char *p;
    int wait = pli_srv_job_tick(l->job, l->now);
    free_closed(l); // clients that the tick has dropped
    int n = l->n_conn;
    for (int i = 0; i < n; i++) {
        struct conn *c = &l->conn[i];
        const struct conn *mate = mate_of(l, c);
        if (mate != NULL) {
            bool has_more = pli_impi_stream_has_more(&c->s) && mate->n == 0;
            wait = has_more || l->is_pumping ? 0 : wait;
            pfd[i] = (struct pollfd){ .fd = c->s.fd,
                                      .events = (short)((mate->n == 0 ? POLLIN : 0) |
                                                        (c->n > 0 ? POLLOUT : 0)) };
            if (pli_srv_job_output(l->job, c->peer, &p) > 0) {
                pfd[i].events |= POLLOUT;
            }
            continue;
        }
        bool has_out = !c->is_shut && !pli_impi_stream_waits(&c->s) &&
                       pli_srv_job_output(l->job, c->peer, &p) > 0;
        pfd[i] =
            (struct pollfd){ .fd = c->s.fd, .events = (short)(POLLIN | (has_out ? POLLOUT : 0)) };
        if (c->close_ms != 0) {
            wait = sooner(wait, c->close_ms > l->now ? (int)(c->close_ms - l->now) : 0);
        }
    }
    if (l->conf->has_token) { // a signal may have come just before
        wait = sooner(wait, 1000);
    }
    bool accepts = l->listen_fd >= 0 && l->now >= l->accept_ms;
    if (l->listen_fd >= 0 && !accepts) {
        wait = sooner(wait, (int)(l->accept_ms - l->now));
    }
    pfd[n] = (struct pollfd){ .fd = accepts ? l->listen_fd : -1, .events = POLLIN };
    if (poll(pfd, (nfds_t)n + 1, wait) < 0 && errno != EINTR) {
        pli_srv_log(PLI_SRV_ERROR, "cannot wait for clients: %s", strerror(errno));
        abort(); // only a mistake of ours can bring this about
    }
    l->now = clock_ms();
    l->is_pumping = false;
    for (int i = 0; i < n; i++) {
        if (pfd[i].revents != 0 && pli_srv_job_mate(l->conn[i].peer) == NULL) {
            read_conn(l, &l->conn[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        write_conn(l, &l->conn[i]);
    }
    for (int i = 0; i < n; i++) {
        struct conn *mate = l->conn[i].is_shut ? NULL : mate_of(l, &l->conn[i]);
        if (mate != NULL && pump(l, &l->conn[i], mate)) {
            l->is_pumping = true;
        }
    }
    if (pfd[n].revents != 0) {
        accept_some(l);
    }
    free_closed(l);
}

// Clients that were told why the job ends close their side: one that is closed here before it has
// read that may never do so.
static void linger(struct loop *l)
{
    uint64_t until = clock_ms() + LINGER_MS;
    for (int i = 0; i < l->n_conn; i++) {
        struct conn *c = &l->conn[i];
        struct pollfd p = { .fd = c->s.fd, .events = POLLIN };
        shutdown(c->s.fd, SHUT_WR);
        uint64_t now = clock_ms();
        while (l->conf->has_token && now < until && poll(&p, 1, (int)(until - now)) == 1 &&
               read(c->s.fd, l->buf, sizeof l->buf) > 0) {
            now = clock_ms();
        }
    }
}

enum pli_srv_exit pli_srv_loop_run(const struct pli_srv_conf *conf, int listen_fd)
{
    enum pli_srv_exit code = PLI_SRV_EXIT_START;
    struct loop *l = calloc(1, sizeof *l);
    if (l == NULL) {
        pli_srv_log(PLI_SRV_ERROR, "out of memory");
        close(listen_fd);
        return code;
    }
    *l = (struct loop){ .conf = conf, .listen_fd = listen_fd, .now = clock_ms() };
    if (pli_srv_job_create(conf, l->now, &l->job) == PLI_IMPI_OK) {
        while (!pli_srv_job_is_over(l->job, &code)) {
            turn(l);
            if (is_told_to_end != 0 && conf->stop_text != NULL) {
                pli_srv_job_stop(l->job, conf->stop_text);
            }
        }
        for (int i = 0; i < l->n_conn; i++) {
            write_conn(l, &l->conn[i]); // what a refused client was still to read
        }
        linger(l);
    }
    while (l->n_conn > 0) {
        close_conn(l, l->n_conn - 1);
    }
    if (l->listen_fd >= 0) {
        close(l->listen_fd);
    }
    pli_srv_job_destroy(l->job);
    free(l);
    return code;
}
