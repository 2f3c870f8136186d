// SPDX-License-Identifier: BSD-3-Clause
// The bytes between two hosts. Over a distance one TCP connection carries no more than its window
// in a round trip, and starts and recovers slowly; several in parallel carry several windows. The
// engine's bytes are dealt out over them in stripes, each with its number and length in front, to
// whichever connection takes more: a slow one gets less, and holds up no other. The receiver takes
// the stripes by number. One connection has no stripes.
#include "engine/impi_net_priv.h"
#include "engine/impi_sock.h"
#include "wire/impi_byte.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

// Of `n` pieces those that are within the next `max` bytes; *room_out is how many these are.
static int cut(struct iovec *iov, int n, size_t max, size_t *room_out)
{
    int i = 0;
    size_t room = 0;
    for (; i < n && room < max; i++) {
        size_t left = max - room;
        iov[i].iov_len = iov[i].iov_len < left ? iov[i].iov_len : left;
        room += iov[i].iov_len;
    }
    *room_out = room;
    return i;
}

bool pli_impi_net_link_is_there(const struct pli_impi_net *net, uint32_t host)
{
    for (int k = 0; k < MAX_CONN; k++) {
        if (net->link[host].conn[k].s.fd >= 0) {
            return true;
        }
    }
    return false;
}

static bool is_striped(const struct link *l)
{
    return l->n_conn > 1;
}

// It has a stripe whose turn it is, or is to say what stripe it has.
static bool is_read(const struct link *l, const struct conn *c)
{
    return !is_striped(l) || c->n_head < STRIPE_HEAD || c->seq == l->seq_in;
}

static uint32_t events_of(const struct link *l, const struct conn *c)
{
    if (c->is_dialing) {
        return EPOLLOUT;
    }
    if (!l->is_open) {
        return EPOLLRDHUP;
    }
    if (c->has_hung_up && !is_read(l, c)) {
        return 0;
    }
    bool writes = c->n_hello > 0 || (l->has_out && c->is_full) || c->n_tail > 0;
    bool waits = pli_impi_stream_waits(&c->s); // a handshake may wait for the other side first
    bool reads = is_read(l, c) || (writes && waits);
    return (reads ? EPOLLIN : EPOLLRDHUP) | (writes && !waits ? EPOLLOUT : 0u);
}

enum pli_impi_err pli_impi_net_link_watch(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    enum pli_impi_err err = PLI_IMPI_OK;
    for (uint32_t k = 0; k < l->n_conn && err == PLI_IMPI_OK; k++) {
        struct conn *c = &l->conn[k];
        uint32_t events = c->s.fd < 0 || c->has_ended ? c->events : events_of(l, c);
        if (events != c->events) {
            c->events = events;
            err =
                pli_impi_net_watch_conn(net, c->s.fd, host, k, events); // has failed the net if so
        }
    }
    return err;
}

void pli_impi_net_link_drop(struct pli_impi_net *net, uint32_t host)
{
    for (int k = 0; k < MAX_CONN; k++) {
        struct conn *c = &net->link[host].conn[k];
        pli_impi_net_drop(net, &c->s);
        free(c->tail);
        c->tail = NULL;
    }
}

void pli_impi_net_link_mark(void *arg, uint32_t host)
{
    struct pli_impi_net *net = arg;
    if (!net->link[host].is_dirty) {
        net->link[host].is_dirty = true;
        net->dirty[net->n_dirty++] = host;
    }
}

static uint64_t judge_every(const struct pli_impi_net *net)
{
    return (uint64_t)net->conf.silence_s * 250;
}

static enum pli_impi_err write_hellos(struct link *l)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    for (uint32_t k = 0; k < l->n_conn && err >= 0; k++) {
        struct conn *c = &l->conn[k];
        for (err = PLI_IMPI_OK; c->n_hello > 0 && err == PLI_IMPI_OK;) {
            struct iovec iov = { c->hello + c->len_hello - c->n_hello, c->n_hello };
            size_t len = 0;
            err = pli_impi_stream_write(&c->s, &iov, 1, &len);
            c->n_hello -= (uint32_t)len;
        }
    }
    return err < 0 ? err : PLI_IMPI_OK;
}

static bool has_hellos(const struct link *l)
{
    for (uint32_t k = 0; k < l->n_conn; k++) {
        if (l->conn[k].n_hello > 0) {
            return true;
        }
    }
    return false;
}

// What is left of a stripe that the connection did not take at once.
static enum pli_impi_err write_tail(struct conn *c)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    while (c->n_tail > 0 && err == PLI_IMPI_OK) {
        struct iovec iov = { c->tail + c->len_tail - c->n_tail, c->n_tail };
        size_t len = 0;
        err = pli_impi_stream_write(&c->s, &iov, 1, &len);
        c->n_tail -= len;
    }
    return err;
}

static enum pli_impi_err write_tails(struct link *l)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    for (uint32_t k = 0; k < l->n_conn && err >= 0; k++) {
        struct conn *c = &l->conn[k];
        err = c->is_full ? PLI_IMPI_AGAIN : write_tail(c);
        c->is_full = err == PLI_IMPI_AGAIN;
    }
    return err < 0 ? err : PLI_IMPI_OK;
}

bool pli_impi_net_link_has_tail(const struct pli_impi_net *net, uint32_t host)
{
    for (uint32_t k = 0; k < net->link[host].n_conn; k++) {
        const struct conn *c = &net->link[host].conn[k];
        if (c->s.fd >= 0 && c->n_tail > 0) {
            return true;
        }
    }
    return false;
}

// `len` bytes of the pieces have gone.
static int skip(struct iovec *iov, int n, size_t len)
{
    int first = 0;
    while (first < n && len >= iov[first].iov_len) {
        len -= iov[first++].iov_len;
    }
    if (first < n) {
        iov[first].iov_base = (char *)iov[first].iov_base + len;
        iov[first].iov_len -= len;
    }
    return first;
}

static void keep_tail(struct conn *c, const struct iovec *iov, int n)
{
    c->len_tail = 0;
    for (int i = 0; i < n; i++) {
        memcpy(c->tail + c->len_tail, iov[i].iov_base, iov[i].iov_len);
        c->len_tail += iov[i].iov_len;
    }
    c->n_tail = c->len_tail;
}

// The connection after the last one that takes more; NULL: none does.
static struct conn *next_out(struct link *l)
{
    for (uint32_t i = 0; i < l->n_conn; i++) {
        struct conn *c = &l->conn[(l->out + i) % l->n_conn];
        if (!c->is_full) {
            l->out = (l->out + i + 1) % l->n_conn;
            return c;
        }
    }
    return NULL;
}

// One stripe to a connection, with its head. What does not go at once is kept, so that the others
// can have the stripes that follow.
static enum pli_impi_err write_stripe(struct link *l, struct conn *c, struct iovec *iov, int n,
                                      size_t room)
{
    unsigned char head[STRIPE_HEAD];
    enum pli_impi_err err = PLI_IMPI_OK;
    if (c->tail == NULL) {
        c->tail = malloc(STRIPE_HEAD + STRIPE);
        if (c->tail == NULL) {
            return PLI_IMPI_ERR_NOMEM;
        }
    }
    pli_impi_byte_put32(head, l->seq_out++);
    pli_impi_byte_put32(head + 4, (uint32_t)room);
    iov[0] = (struct iovec){ head, sizeof head };
    for (n++; n > 0 && err == PLI_IMPI_OK;) {
        size_t len = 0;
        err = pli_impi_stream_write(&c->s, iov, n, &len);
        int gone = skip(iov, n, len);
        iov += gone;
        n -= gone;
    }
    keep_tail(c, iov, n);
    c->is_full = err == PLI_IMPI_AGAIN;
    return err < 0 ? err : PLI_IMPI_OK;
}

// The hellos, then packets, as much as the sockets take.
static enum pli_impi_err write_link(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    enum pli_impi_err err = write_hellos(l);
    l->has_out = false;
    if (err == PLI_IMPI_OK && !has_hellos(l)) {
        err = write_tails(l);
    }
    if (err != PLI_IMPI_OK || has_hellos(l)) {
        return err;
    }
    for (;;) {
        struct iovec iov[MAX_IOV + 1]; // the first one is for the head of a stripe
        size_t len = 0;
        struct conn *c = next_out(l);
        int n = pli_impi_engine_out_iov(net->engine, host, iov + 1, MAX_IOV);
        if (n == 0 || c == NULL) {
            l->has_out = n > 0;
            return PLI_IMPI_OK;
        }
        if (is_striped(l)) {
            n = cut(iov + 1, n, STRIPE, &len);
            err = write_stripe(l, c, iov, n, len);
        } else {
            err = pli_impi_stream_write(&c->s, iov + 1, n, &len);
            c->is_full = err == PLI_IMPI_AGAIN;
        }
        if (err < 0) {
            return err;
        }
        if (net->judge_ms == 0 && net->conf.silence_s > 0) {
            net->judge_ms = pli_impi_net_clock() + judge_every(net);
        }
        pli_impi_engine_out_done(net->engine, host, len);
    }
}

// A connection has ended before a stripe. Nobody closes one before he has our FINI; then, what he
// said last may still be on its way by another.
static enum pli_impi_err take_end(struct pli_impi_net *net, uint32_t host, struct conn *c)
{
    const struct link *l = &net->link[host];
    c->has_ended = true;
    for (uint32_t k = 0; k < l->n_conn; k++) {
        if (!l->conn[k].has_ended && pli_impi_engine_has_fini(net->engine, host)) {
            (void)epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, c->s.fd, NULL);
            return PLI_IMPI_AGAIN;
        }
    }
    return PLI_IMPI_ERR_PEER;
}

// Which stripe a connection has. AGAIN: it does not say yet.
static enum pli_impi_err read_head(struct pli_impi_net *net, uint32_t host, struct conn *c)
{
    enum pli_impi_err err = c->has_ended ? PLI_IMPI_AGAIN : PLI_IMPI_OK;
    if (c->n_head == STRIPE_HEAD) {
        return PLI_IMPI_OK;
    }
    while (c->n_head < STRIPE_HEAD && err == PLI_IMPI_OK) {
        struct iovec iov = { c->head + c->n_head, STRIPE_HEAD - c->n_head };
        size_t len = 0;
        err = pli_impi_stream_read(&c->s, &iov, 1, &len);
        c->n_head += (uint32_t)len;
    }
    if (err == PLI_IMPI_ERR_PEER && c->n_head == 0) {
        return take_end(net, host, c);
    }
    c->seq = pli_impi_byte_get32(c->head);
    c->in_left = pli_impi_byte_get32(c->head + 4);
    return err == PLI_IMPI_OK && (c->in_left == 0 || c->in_left > STRIPE) ? PLI_IMPI_ERR_PROTO
                                                                          : err;
}

// The connection that has the next bytes. *err_out: AGAIN, none has them yet.
static struct conn *next_in(struct pli_impi_net *net, uint32_t host, enum pli_impi_err *err_out)
{
    struct link *l = &net->link[host];
    *err_out = PLI_IMPI_OK;
    for (uint32_t i = 0; i < l->n_conn; i++) {
        uint32_t k = (l->in + i) % l->n_conn;
        struct conn *c = &l->conn[k];
        enum pli_impi_err err = is_striped(l) ? read_head(net, host, c) : PLI_IMPI_OK;
        if (err < 0) {
            *err_out = err;
            return NULL;
        }
        if (err == PLI_IMPI_OK && is_read(l, c)) {
            l->in = k;
            return c;
        }
    }
    *err_out = PLI_IMPI_AGAIN;
    return NULL;
}

static void took(struct link *l, struct conn *c, size_t len)
{
    if (is_striped(l)) {
        c->in_left -= len;
        if (c->in_left == 0) {
            c->n_head = 0;
            l->seq_in++;
            l->in = (l->in + 1) % l->n_conn;
        }
    }
}

static bool has_more(const struct link *l)
{
    for (uint32_t k = 0; k < l->n_conn; k++) {
        if (is_read(l, &l->conn[k]) && pli_impi_stream_has_more(&l->conn[k].s)) {
            return true;
        }
    }
    return false;
}

static enum pli_impi_err read_link(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    for (int turn = 0; turn < READS_PER_TURN || has_more(l); turn++) {
        struct iovec iov[2];
        size_t len = 0, room = 0;
        int n = pli_impi_engine_in_iov(net->engine, host, iov);
        if (n == 0) {
            return PLI_IMPI_OK; // over
        }
        enum pli_impi_err err = PLI_IMPI_OK;
        struct conn *c = next_in(net, host, &err);
        if (c != NULL) {
            n = cut(iov, n, is_striped(l) ? c->in_left : SIZE_MAX, &room);
            err = pli_impi_stream_read(&c->s, iov, n, &len);
        }
        if (err != PLI_IMPI_OK) {
            return err == PLI_IMPI_AGAIN ? PLI_IMPI_OK : err;
        }
        took(l, c, len);
        if (pli_impi_engine_in_done(net->engine, host, len) != PLI_IMPI_OK ||
            (len < room && !pli_impi_stream_has_more(&c->s))) {
            return PLI_IMPI_OK; // the engine knows, or the socket is empty
        }
    }
    return PLI_IMPI_OK;
}

// After anything was done to a connection: see how it stands.
static enum pli_impi_err settle(struct pli_impi_net *net, uint32_t host, enum pli_impi_err err)
{
    if (err != PLI_IMPI_OK) {
        if (err == PLI_IMPI_ERR_SYS || err == PLI_IMPI_ERR_AUTH) {
            pli_impi_log(
                &net->conf.log, PLI_IMPI_LOG_WARN, "host %u to host %u: %s", net->host, host,
                err == PLI_IMPI_ERR_AUTH ? "another TLS secret, or no TLS" : strerror(errno));
        }
        pli_impi_engine_eof(net->engine, host, err);
    }
    enum pli_impi_link state = pli_impi_engine_link(net->engine, host);
    bool is_over = state == PLI_IMPI_LINK_OVER && !pli_impi_net_link_has_tail(net, host);
    if (is_over || state == PLI_IMPI_LINK_LOST || (state == PLI_IMPI_LINK_OVER && err < 0)) {
        pli_impi_net_link_drop(net, host);
    }
    return state == PLI_IMPI_LINK_LOST ? pli_impi_net_fail(net, PLI_IMPI_ERR_PEER) : PLI_IMPI_OK;
}

// As `settle`, and the sockets are watched for what comes next.
static enum pli_impi_err leave(struct pli_impi_net *net, uint32_t host, enum pli_impi_err err)
{
    err = settle(net, host, err);
    return err == PLI_IMPI_OK ? pli_impi_net_link_watch(net, host) : err;
}

enum pli_impi_err pli_impi_net_link_open(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    enum pli_impi_err err = pli_impi_engine_open(net->engine, host);
    if (err != PLI_IMPI_OK) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "host %u to host %u: %s", net->host, host,
                     pli_impi_err_text(err));
        return pli_impi_net_fail(net, err);
    }
    l->is_open = true;
    for (uint32_t k = 0; k < l->n_conn; k++) {
        pli_impi_sock_expect(l->conn[k].s.fd, net->conf.silence_s);
        if (is_striped(l)) {
            pli_impi_sock_limit(l->conn[k].s.fd, 2 * STRIPE);
        }
    }
    if (has_hellos(l)) {
        pli_impi_net_link_mark(net, host);
    }
    return leave(net, host, has_more(l) ? read_link(net, host) : PLI_IMPI_OK);
}

// A connection has ended, behind a stripe whose turn has not come.
static enum pli_impi_err leave_unread(struct pli_impi_net *net, uint32_t host, struct conn *c)
{
    if (!pli_impi_engine_has_fini(net->engine, host)) {
        return settle(net, host, PLI_IMPI_ERR_PEER);
    }
    c->has_hung_up = true;
    (void)epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, c->s.fd, NULL);
    c->events = 0;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_net_link_event(struct pli_impi_net *net, uint32_t host, uint32_t k,
                                          uint32_t events)
{
    struct link *l = &net->link[host];
    struct conn *c = &l->conn[k];
    enum pli_impi_err err = PLI_IMPI_OK;
    if (c->s.fd < 0) {
        return PLI_IMPI_OK; // closed earlier in this round
    }
    if (!l->is_open) {
        return pli_impi_net_mesh_event(net, host, k);
    }
    bool has_ended = (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    bool may_write = (events & EPOLLOUT) != 0 || pli_impi_stream_waits(&c->s);
    if (has_ended || (events & EPOLLIN) != 0) {
        err = settle(net, host, read_link(net, host));
    }
    if (err == PLI_IMPI_OK && c->s.fd >= 0 && may_write) {
        c->is_full = false;
        err = settle(net, host, write_link(net, host));
    }
    if (err == PLI_IMPI_OK && c->s.fd >= 0 && has_ended && !is_read(l, c) && !c->has_ended) {
        err = leave_unread(net, host, c);
    }
    return err == PLI_IMPI_OK ? pli_impi_net_link_watch(net, host) : err;
}

void pli_impi_net_link_flush(struct pli_impi_net *net)
{
    while (net->n_dirty > 0) {
        uint32_t host = net->dirty[--net->n_dirty];
        struct link *l = &net->link[host];
        l->is_dirty = false;
        if (l->is_open && l->conn[0].s.fd >= 0) {
            (void)leave(net, host, write_link(net, host)); // has failed the net if it failed
        }
    }
}

// A cable that was pulled breaks no connection: look whether what was written is acknowledged, as
// long as something is not.
static void judge(struct pli_impi_net *net, uint64_t now_ms)
{
    uint64_t limit = (uint64_t)net->conf.silence_s * 1000;
    bool awaits = false;
    for (uint32_t h = 0; net->link != NULL && h < net->job->n_host; h++) {
        struct link *l = &net->link[h];
        uint32_t longest = 0;
        for (uint32_t k = 0; l->is_open && k < l->n_conn; k++) {
            uint32_t ms = 0;
            awaits = (l->conn[k].s.fd >= 0 && pli_impi_sock_awaits(l->conn[k].s.fd, &ms)) || awaits;
            longest = ms > longest ? ms : longest;
        }
        if (longest > limit) {
            errno = ETIMEDOUT;
            (void)settle(net, h, PLI_IMPI_ERR_SYS); // has failed the net
        }
    }
    net->judge_ms = awaits ? now_ms + judge_every(net) : 0;
}

void pli_impi_net_link_tick(struct pli_impi_net *net, uint64_t now_ms)
{
    if (net->judge_ms != 0 && now_ms >= net->judge_ms) {
        judge(net, now_ms);
    }
}
