// SPDX-License-Identifier: BSD-3-Clause
// The connections between hosts: of two hosts the one with the higher index connects and sends its
// index in four bytes, and after it, where all clients can, the token that the called client gave
// the others through the server. A connection may come before this host knows the job, may be slow,
// or may not be of the job; it is kept apart until it has sent its identity, and closed if that is
// wrong.
#include "engine/impi_net_priv.h"
#include "engine/impi_sock.h"
#include "wire/impi_byte.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

static void drop_pending(struct pli_impi_net *net, struct pending *g, const char *why)
{
    pli_impi_log(&net->conf.log, PLI_IMPI_LOG_WARN, "port %u: a connection was closed: %s",
                 net->port, why);
    pli_impi_net_drop(net, &g->s);
}

static bool has_tokens(const struct pli_impi_net *net)
{
    return net->job != NULL && (net->job->features & PLI_IMPI_HAS_TOKEN) != 0;
}

static uint32_t hello_len(const struct pli_impi_net *net)
{
    return has_tokens(net) ? HELLO_MAX : PLI_IMPI_HELLO;
}

static const unsigned char *token_of(const struct pli_impi_net *net, uint32_t host)
{
    return net->job->client[net->job->host[host].client].token;
}

// What goes to another client on this machine leaves it nowhere, so it needs no TLS; the caller
// says the token all the same. Not where the user has named a secret.
static bool is_near(const struct pli_impi_net *net, uint32_t host)
{
    return net->job != NULL && net->conf.tls_file == NULL &&
           pli_impi_job_is_near(net->job, net->job->host[net->host].client,
                                net->job->host[host].client);
}

static bool has_near(const struct pli_impi_net *net)
{
    for (uint32_t h = net->job == NULL ? 0 : net->host + 1;
         net->job != NULL && h < net->job->n_host; h++) {
        if (is_near(net, h)) {
            return true;
        }
    }
    return false;
}

// Takes as long whatever the difference is.
static bool is_same_token(const unsigned char *a, const unsigned char *b)
{
    unsigned differ = 0;
    for (int i = 0; i < PLI_IMPI_TOKEN; i++) {
        differ |= a[i] ^ b[i];
    }
    return differ == 0;
}

// A connection to or from a host is established: packets may be sent.
static enum pli_impi_err open_link(struct pli_impi_net *net, uint32_t host)
{
    enum pli_impi_err err = pli_impi_engine_open(net->engine, host);
    if (err != PLI_IMPI_OK) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "host %u to host %u: %s", net->host, host,
                     pli_impi_err_text(err));
        return pli_impi_net_fail(net, err);
    }
    pli_impi_sock_expect(net->link[host].s.fd, net->conf.silence_s);
    if (net->link[host].n_hello > 0) {
        pli_impi_net_mesh_mark(net, host);
    }
    return PLI_IMPI_OK;
}

static enum pli_impi_err lost(struct pli_impi_net *net, uint32_t host, int sys)
{
    const struct pli_impi_job_host *h = &net->job->host[host];
    char text[64];
    pli_impi_sock_text(h->h.addr, (uint16_t)h->h.port, text);
    pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR,
                 "host %u (client %u, port %u) cannot reach host %u (client %u) at %s: %s",
                 net->host, net->job->host[net->host].client, net->port, host, h->client, text,
                 strerror(sys));
    return pli_impi_net_fail(net, PLI_IMPI_ERR_PEER);
}

// It cannot be reached: the server relays, if it can.
static enum pli_impi_err give_up(struct pli_impi_net *net, uint32_t host, int sys)
{
    struct link *l = &net->link[host];
    if (!pli_impi_net_relay_may(net)) {
        return lost(net, host, sys);
    }
    pli_impi_net_drop(net, &l->s);
    l->is_dialing = l->wants_out = false;
    l->try_ms = 0;
    return pli_impi_net_relay_begin(net, host, false);
}

static void set_hello(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    l->n_hello = l->len_hello = hello_len(net);
    pli_impi_byte_put32(l->hello, net->host);
    memcpy(l->hello + PLI_IMPI_HELLO, token_of(net, host), PLI_IMPI_TOKEN);
}

static enum pli_impi_err dial(struct pli_impi_net *net, uint32_t host)
{
    const struct pli_impi_host *h = &net->job->host[host].h;
    struct link *l = &net->link[host];
    int fd;
    if (pli_impi_sock_dial(h->addr, (uint16_t)h->port, &fd) != PLI_IMPI_OK ||
        pli_impi_stream_open(&l->s, fd, is_near(net, host) ? NULL : net->tls, true) !=
            PLI_IMPI_OK) {
        return give_up(net, host, errno);
    }
    l->is_dialing = true;
    l->wants_out = true;
    l->try_ms = pli_impi_net_relay_may(net) ? pli_impi_net_clock() + TRY_MS : 0;
    set_hello(net, host);
    return pli_impi_net_watch(net, l->s.fd, KEY_HOST, host, true);
}

static enum pli_impi_err read_link(struct pli_impi_net *net, uint32_t host);
static enum pli_impi_err settle(struct pli_impi_net *net, uint32_t host, enum pli_impi_err err);

// Why a pending connection cannot be from the host that it names; NULL: it can. Checked by the
// token; else by TLS, whose secret it has; else, with clients that have neither, by its address,
// which others here can have too.
static const char *why_not_host(const struct pli_impi_net *net, const struct pending *g,
                                uint32_t host)
{
    unsigned char from[PLI_IMPI_HOSTID];
    if (net->tls != NULL && g->s.tls == NULL && !is_near(net, host)) {
        return "it speaks no TLS";
    }
    if (has_tokens(net)) {
        return is_same_token(g->hello + PLI_IMPI_HELLO, token_of(net, net->host))
                   ? NULL
                   : "it does not know what the clients told each other: a stranger";
    }
    if (net->tls != NULL || net->conf.takes_any_address) {
        return NULL;
    }
    if (pli_impi_sock_caller(g->s.fd, from) != PLI_IMPI_OK ||
        !pli_impi_label_is_same_address(from, net->job->host[host].h.addr)) {
        return "it comes from another address than the host it names has told; if that is as it "
               "should be (several networks, translated addresses), set IMPI_ANY_ADDRESS";
    }
    return NULL;
}

// A pending connection has sent its identity, and the job is known.
static void assign_to_host(struct pli_impi_net *net, uint32_t i)
{
    struct pending *g = &net->pending[i];
    uint32_t host = pli_impi_byte_get32(g->hello);
    if (!pli_impi_engine_is_peer(net->engine, host) || host <= net->host) {
        drop_pending(net, g, "it names a host that does not connect to us");
        return;
    }
    if (net->link[host].s.fd >= 0 ||
        pli_impi_engine_link(net->engine, host) != PLI_IMPI_LINK_NONE) {
        drop_pending(net, g, "it names a host that is connected already");
        return;
    }
    const char *why = why_not_host(net, g, host);
    if (why != NULL) {
        drop_pending(net, g, why);
        return;
    }
    net->link[host].s = g->s;
    net->link[host].is_relayed = g->is_relayed;
    g->s = (struct pli_impi_stream){ .fd = -1 };
    // a failure has failed the net
    if (pli_impi_net_rewatch(net, net->link[host].s.fd, KEY_HOST, host, false) == PLI_IMPI_OK &&
        open_link(net, host) == PLI_IMPI_OK && pli_impi_stream_has_more(&net->link[host].s)) {
        (void)settle(net, host, read_link(net, host));
    }
}

enum pli_impi_err pli_impi_net_mesh_begin(struct pli_impi_net *net)
{
    for (uint32_t h = 0; h < net->host; h++) {
        if (pli_impi_engine_is_peer(net->engine, h)) {
            enum pli_impi_err err = dial(net, h);
            if (err != PLI_IMPI_OK) {
                return err;
            }
        }
    }
    for (uint32_t i = 0; i < MAX_PENDING; i++) {
        struct pending *g = &net->pending[i];
        if (g->s.fd < 0 || g->n_hello < PLI_IMPI_HELLO) {
            continue;
        }
        if (g->n_hello == hello_len(net)) {
            assign_to_host(net, i);
        } else { // now it is known that it has more to say
            g->deadline_ms = pli_impi_net_clock() + PENDING_MS;
            if (pli_impi_net_watch(net, g->s.fd, KEY_PENDING, i, false) == PLI_IMPI_OK) {
                pli_impi_net_mesh_pending(net, i);
            }
        }
    }
    return net->err;
}

uint32_t pli_impi_net_mesh_missing(const struct pli_impi_net *net)
{
    for (uint32_t h = 0; h < net->job->n_host; h++) {
        if (pli_impi_engine_is_peer(net->engine, h) &&
            pli_impi_engine_link(net->engine, h) == PLI_IMPI_LINK_NONE) {
            return h;
        }
    }
    return UINT32_MAX;
}

static struct pending *free_pending(struct pli_impi_net *net)
{
    struct pending *oldest = &net->pending[0];
    for (int i = 0; i < MAX_PENDING; i++) {
        struct pending *g = &net->pending[i];
        if (g->s.fd < 0) {
            return g;
        }
        // one that waits for us to know the job is not at fault
        if (g->n_hello < hello_len(net) && g->deadline_ms < oldest->deadline_ms) {
            oldest = g;
        }
    }
    drop_pending(net, oldest, "too many wait");
    return oldest;
}

enum pli_impi_err pli_impi_net_mesh_relayed(struct pli_impi_net *net, uint32_t host,
                                            struct pli_impi_stream s, bool is_called)
{
    if (!is_called) {
        struct link *l = &net->link[host];
        l->s = s;
        l->is_relayed = l->wants_out = true;
        set_hello(net, host);
        enum pli_impi_err err = pli_impi_net_rewatch(net, s.fd, KEY_HOST, host, true);
        return err == PLI_IMPI_OK ? open_link(net, host) : err;
    }
    struct pending *g = free_pending(net);
    uint32_t i = (uint32_t)(g - net->pending);
    *g = (struct pending){ .s = s,
                           .deadline_ms = pli_impi_net_clock() + PENDING_MS,
                           .is_relayed = true };
    enum pli_impi_err err = pli_impi_net_rewatch(net, s.fd, KEY_PENDING, i, false);
    if (err == PLI_IMPI_OK) {
        pli_impi_net_mesh_pending(net, i); // it may have come already
    }
    return err == PLI_IMPI_OK ? net->err : err;
}

void pli_impi_net_mesh_accept(struct pli_impi_net *net)
{
    for (;;) {
        int fd;
        enum pli_impi_err err = pli_impi_sock_accept(net->listen_fd, &fd);
        if (err != PLI_IMPI_OK) {
            if (err == PLI_IMPI_ERR_SYS) {
                pli_impi_log(&net->conf.log, PLI_IMPI_LOG_WARN, "port %u: cannot accept: %s",
                             net->port, strerror(errno));
                net->accept_ms = pli_impi_net_clock() + RETRY_MS;
                (void)epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, net->listen_fd, NULL);
            }
            return;
        }
        struct pending *g = free_pending(net);
        *g = (struct pending){ .deadline_ms = pli_impi_net_clock() + PENDING_MS,
                               .is_unknown = net->tls != NULL && has_near(net) };
        if (pli_impi_stream_open(&g->s, fd, g->is_unknown ? NULL : net->tls, false) !=
            PLI_IMPI_OK) {
            return;
        }
        if (pli_impi_net_watch(net, fd, KEY_PENDING, (uint32_t)(g - net->pending), false) !=
            PLI_IMPI_OK) {
            return;
        }
    }
}

// Some callers speak TLS and some do not: the first byte tells.
static enum pli_impi_err find_out(struct pli_impi_net *net, struct pending *g)
{
    enum { TLS_HANDSHAKE = 0x16 }; // no host has so high an index
    unsigned char byte;
    if (!g->is_unknown) {
        return PLI_IMPI_OK;
    }
    enum pli_impi_err err = pli_impi_sock_peek(g->s.fd, &byte);
    if (err == PLI_IMPI_OK) {
        g->is_unknown = false;
        err = byte == TLS_HANDSHAKE ? pli_impi_stream_secure(&g->s, net->tls, false) : err;
    }
    return err;
}

void pli_impi_net_mesh_pending(struct pli_impi_net *net, uint32_t i)
{
    struct pending *g = &net->pending[i];
    uint32_t want = hello_len(net);
    struct iovec iov = { g->hello + g->n_hello, want - g->n_hello };
    size_t n = 0;
    if (g->s.fd < 0 || g->n_hello >= want) {
        return;
    }
    enum pli_impi_err err = find_out(net, g);
    if (err == PLI_IMPI_OK) {
        err = pli_impi_stream_read(&g->s, &iov, 1, &n);
    }
    if (err < 0) {
        drop_pending(net, g,
                     err == PLI_IMPI_ERR_AUTH ? "it has another TLS secret, or speaks no TLS"
                                              : "it went away without a word");
        return;
    }
    g->n_hello += (uint32_t)n;
    if (g->n_hello < want) {
        return;
    }
    if (net->engine != NULL) {
        assign_to_host(net, i);
    } else { // until we know the job; what it sends meanwhile waits in the socket
        (void)epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, g->s.fd, NULL);
    }
}

void pli_impi_net_mesh_mark(void *arg, uint32_t host)
{
    struct pli_impi_net *net = arg;
    if (!net->link[host].is_dirty) {
        net->link[host].is_dirty = true;
        net->dirty[net->n_dirty++] = host;
    }
}

static void want_out(struct pli_impi_net *net, uint32_t host, bool on)
{
    struct link *l = &net->link[host];
    if (l->wants_out != on) {
        l->wants_out = on;
        (void)pli_impi_net_rewatch(net, l->s.fd, KEY_HOST, host, on); // has failed the net if so
    }
}

static uint64_t judge_every(const struct pli_impi_net *net)
{
    return (uint64_t)net->conf.silence_s * 250;
}

// The hello, then packets, as much as the socket takes.
static enum pli_impi_err write_link(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    for (;;) {
        struct iovec iov[MAX_IOV];
        int n;
        size_t len = 0;
        if (l->n_hello > 0) {
            iov[0] = (struct iovec){ l->hello + l->len_hello - l->n_hello, l->n_hello };
            n = 1;
        } else {
            n = pli_impi_engine_out_iov(net->engine, host, iov, MAX_IOV);
        }
        if (n == 0) {
            want_out(net, host, false);
            return PLI_IMPI_OK;
        }
        enum pli_impi_err err = pli_impi_stream_write(&l->s, iov, n, &len);
        if (err == PLI_IMPI_AGAIN) { // a handshake may wait for the other side first
            want_out(net, host, !pli_impi_stream_waits(&l->s));
            return PLI_IMPI_OK;
        }
        if (err != PLI_IMPI_OK) {
            return err;
        }
        if (net->judge_ms == 0 && net->conf.silence_s > 0) {
            net->judge_ms = pli_impi_net_clock() + judge_every(net);
        }
        if (l->n_hello > 0) {
            l->n_hello -= (uint32_t)len;
        } else {
            pli_impi_engine_out_done(net->engine, host, len);
        }
    }
}

static enum pli_impi_err read_link(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    for (int turn = 0; turn < READS_PER_TURN || pli_impi_stream_has_more(&l->s); turn++) {
        struct iovec iov[2];
        size_t len = 0, room = 0;
        int n = pli_impi_engine_in_iov(net->engine, host, iov);
        if (n == 0) {
            return PLI_IMPI_OK; // over
        }
        for (int i = 0; i < n; i++) {
            room += iov[i].iov_len;
        }
        enum pli_impi_err err = pli_impi_stream_read(&net->link[host].s, iov, n, &len);
        if (err != PLI_IMPI_OK) {
            return err == PLI_IMPI_AGAIN ? PLI_IMPI_OK : err;
        }
        if (pli_impi_engine_in_done(net->engine, host, len) != PLI_IMPI_OK ||
            (len < room && !pli_impi_stream_has_more(&l->s))) {
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
    if (state == PLI_IMPI_LINK_OVER || state == PLI_IMPI_LINK_LOST) {
        pli_impi_net_drop(net, &net->link[host].s);
    }
    return state == PLI_IMPI_LINK_LOST ? pli_impi_net_fail(net, PLI_IMPI_ERR_PEER) : PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_net_mesh_event(struct pli_impi_net *net, uint32_t host, uint32_t events)
{
    struct link *l = &net->link[host];
    enum pli_impi_err err = PLI_IMPI_OK;
    if (l->s.fd < 0) {
        return PLI_IMPI_OK; // closed earlier in this round
    }
    if (l->is_dialing) {
        int sys = pli_impi_sock_error(l->s.fd);
        if (sys != 0) {
            return give_up(net, host, sys);
        }
        l->is_dialing = false;
        l->try_ms = 0;
        return open_link(net, host);
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        err = settle(net, host, read_link(net, host));
    }
    bool may_write = (events & EPOLLOUT) != 0 || pli_impi_stream_waits(&l->s);
    if (err == PLI_IMPI_OK && l->s.fd >= 0 && may_write) {
        err = settle(net, host, write_link(net, host));
    }
    return err;
}

void pli_impi_net_mesh_flush(struct pli_impi_net *net)
{
    while (net->n_dirty > 0) {
        uint32_t host = net->dirty[--net->n_dirty];
        struct link *l = &net->link[host];
        l->is_dirty = false;
        if (l->s.fd >= 0 && !l->is_dialing) {
            (void)settle(net, host, write_link(net, host)); // has failed the net if it failed
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
        uint32_t ms = 0;
        if (net->link[h].s.fd < 0 || net->link[h].is_dialing) {
            continue;
        }
        awaits = pli_impi_sock_awaits(net->link[h].s.fd, &ms) || awaits;
        if (ms > limit) {
            errno = ETIMEDOUT;
            (void)settle(net, h, PLI_IMPI_ERR_SYS); // has failed the net
        }
    }
    net->judge_ms = awaits ? now_ms + judge_every(net) : 0;
}

int pli_impi_net_mesh_tick(struct pli_impi_net *net, uint64_t now_ms)
{
    int next = -1;
    if (net->judge_ms != 0 && now_ms >= net->judge_ms) {
        judge(net, now_ms);
    }
    if (net->judge_ms != 0) {
        next = (int)(net->judge_ms - now_ms);
    }
    for (uint32_t h = 0; net->state == PLI_IMPI_NET_MESH && h < net->job->n_host; h++) {
        uint64_t at = net->link[h].is_dialing ? net->link[h].try_ms : 0;
        if (at != 0 && now_ms >= at) {
            (void)give_up(net, h, ETIMEDOUT); // has failed the net if it failed
        } else if (at != 0 && (next < 0 || at - now_ms < (uint64_t)next)) {
            next = (int)(at - now_ms);
        }
    }
    if (net->err != PLI_IMPI_OK) {
        return 0;
    }
    if (net->accept_ms != 0 && now_ms >= net->accept_ms && net->listen_fd >= 0) {
        net->accept_ms = 0;
        (void)pli_impi_net_watch(net, net->listen_fd, KEY_LISTEN, 0, false);
    }
    for (int i = 0; i < MAX_PENDING; i++) {
        struct pending *g = &net->pending[i];
        if (g->s.fd < 0 || g->n_hello == hello_len(net)) {
            continue;
        }
        if (now_ms >= g->deadline_ms) {
            drop_pending(net, g, "it did not say who it is");
        } else if (next < 0 || g->deadline_ms - now_ms < (uint64_t)next) {
            next = (int)(g->deadline_ms - now_ms);
        }
    }
    return net->accept_ms != 0 && (next < 0 || next > RETRY_MS) ? RETRY_MS : next;
}

void pli_impi_net_mesh_dismiss(struct pli_impi_net *net)
{
    for (int i = 0; i < MAX_PENDING; i++) {
        if (net->pending[i].s.fd >= 0) {
            drop_pending(net, &net->pending[i], "all hosts are connected");
        }
    }
}

void pli_impi_net_mesh_close(struct pli_impi_net *net)
{
    for (uint32_t h = 0; net->link != NULL && h < net->job->n_host; h++) {
        pli_impi_net_drop(net, &net->link[h].s);
    }
    for (int i = 0; i < MAX_PENDING; i++) {
        if (net->pending[i].s.fd >= 0) {
            pli_impi_net_drop(net, &net->pending[i].s);
        }
    }
}
