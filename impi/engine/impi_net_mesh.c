// SPDX-License-Identifier: BSD-3-Clause
// The connections between hosts: of two hosts the one with the higher index connects and sends its
// index in four bytes, and after it, where all clients can, the token that the called client gave
// the others through the server, and which of how many connections to it this is. A connection may
// come before this host knows the job, may be slow, or may not be of the job; it is kept apart
// until it has sent its identity, and closed if that is wrong.
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

static bool has_links(const struct pli_impi_net *net)
{
    return has_tokens(net) && (net->job->features & PLI_IMPI_HAS_LINKS) != 0;
}

static uint32_t hello_len(const struct pli_impi_net *net)
{
    return has_links(net)    ? HELLO_MAX
           : has_tokens(net) ? PLI_IMPI_HELLO + PLI_IMPI_TOKEN
                             : PLI_IMPI_HELLO;
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
    pli_impi_net_link_drop(net, host);
    l->conn[0] = (struct conn){ .s.fd = -1 };
    l->n_conn = 0;
    l->try_ms = 0;
    return pli_impi_net_relay_begin(net, host, false);
}

static void set_hello(struct pli_impi_net *net, uint32_t host, uint32_t k)
{
    struct conn *c = &net->link[host].conn[k];
    c->n_hello = c->len_hello = hello_len(net);
    pli_impi_byte_put32(c->hello, net->host);
    memcpy(c->hello + PLI_IMPI_HELLO, token_of(net, host), PLI_IMPI_TOKEN);
    pli_impi_byte_put32(c->hello + PLI_IMPI_HELLO + PLI_IMPI_TOKEN,
                        k << 16 | net->link[host].n_conn);
}

static bool dial_one(struct pli_impi_net *net, uint32_t host, uint32_t k)
{
    const struct pli_impi_host *h = &net->job->host[host].h;
    struct conn *c = &net->link[host].conn[k];
    int fd;
    if (pli_impi_sock_dial(h->addr, (uint16_t)h->port, &fd) != PLI_IMPI_OK ||
        pli_impi_stream_open(&c->s, fd, is_near(net, host) ? NULL : net->tls, true) !=
            PLI_IMPI_OK) {
        return false;
    }
    c->is_dialing = true;
    return true;
}

static enum pli_impi_err dial(struct pli_impi_net *net, uint32_t host)
{
    struct link *l = &net->link[host];
    if (!dial_one(net, host, 0)) {
        return give_up(net, host, errno);
    }
    l->n_conn = 1;
    l->try_ms = pli_impi_net_relay_may(net) ? pli_impi_net_clock() + TRY_MS : 0;
    return pli_impi_net_link_watch(net, host);
}

// How many connections a host is worth, now that one is there: as many as it takes to move more
// than a gigabyte a second with the buffers that the system gives to each.
static uint32_t choose_links(const struct pli_impi_net *net, uint32_t host)
{
    enum { US_PER_LINK = 2000, MAX_IN_ALL = 64 };
    uint32_t n = net->conf.n_links;
    if (!has_links(net)) {
        return 1;
    }
    if (n == 0 && !is_near(net, host)) {
        uint32_t may = MAX_IN_ALL / net->job->n_host;
        n = pli_impi_sock_rtt(net->link[host].conn[0].s.fd) / US_PER_LINK;
        n = n < may ? n : may;
    }
    return n < 1 ? 1 : n < MAX_CONN ? n : MAX_CONN;
}

// A connection to a host is established. The first one tells how far it is.
static enum pli_impi_err dialed(struct pli_impi_net *net, uint32_t host, uint32_t k)
{
    struct link *l = &net->link[host];
    l->conn[k].is_dialing = false;
    l->n_up++;
    if (k == 0) {
        l->try_ms = 0;
        l->n_conn = choose_links(net, host);
        for (uint32_t i = 1; i < l->n_conn; i++) {
            if (!dial_one(net, host, i)) {
                return lost(net, host, errno);
            }
        }
    }
    set_hello(net, host, k);
    return l->n_up == l->n_conn ? pli_impi_net_link_open(net, host)
                                : pli_impi_net_link_watch(net, host);
}

enum pli_impi_err pli_impi_net_mesh_event(struct pli_impi_net *net, uint32_t host, uint32_t k)
{
    struct conn *c = &net->link[host].conn[k];
    int sys = pli_impi_sock_error(c->s.fd);
    if (c->is_dialing && sys == 0) {
        return dialed(net, host, k);
    }
    if (c->is_dialing && k == 0) {
        return give_up(net, host, sys);
    }
    return lost(net, host, sys != 0 ? sys : ECONNRESET);
}

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
    struct link *l = &net->link[host];
    uint32_t word = pli_impi_byte_get32(g->hello + PLI_IMPI_HELLO + PLI_IMPI_TOKEN);
    uint32_t k = has_links(net) ? word >> 16 : 0, n = has_links(net) ? word & 0xffff : 1;
    if (k < MAX_CONN &&
        (l->conn[k].s.fd >= 0 || pli_impi_engine_link(net->engine, host) != PLI_IMPI_LINK_NONE)) {
        drop_pending(net, g, "it names a host that is connected already");
        return;
    }
    const char *why = why_not_host(net, g, host);
    if (why == NULL && (k >= n || n > MAX_CONN || (l->n_conn != 0 && n != l->n_conn))) {
        why = "it is one of more connections than its host may have";
    }
    if (why != NULL) {
        drop_pending(net, g, why);
        return;
    }
    l->conn[k].s = g->s;
    l->conn[k].events = UINT32_MAX; // those of one that is pending
    l->n_conn = n;
    l->n_up++;
    l->is_relayed = g->is_relayed;
    g->s = (struct pli_impi_stream){ .fd = -1 };
    // a failure has failed the net
    (void)(l->n_up == n ? pli_impi_net_link_open(net, host) : pli_impi_net_link_watch(net, host));
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
        l->conn[0].s = s;
        l->conn[0].events = UINT32_MAX; // those of a relay
        l->is_relayed = true;
        l->n_conn = l->n_up = 1;
        set_hello(net, host, 0);
        return pli_impi_net_link_open(net, host);
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

int pli_impi_net_mesh_tick(struct pli_impi_net *net, uint64_t now_ms)
{
    int next = -1;
    pli_impi_net_link_tick(net, now_ms);
    if (net->judge_ms != 0) {
        next = (int)(net->judge_ms - now_ms);
    }
    for (uint32_t h = 0; net->state == PLI_IMPI_NET_MESH && h < net->job->n_host; h++) {
        uint64_t at = net->link[h].conn[0].is_dialing ? net->link[h].try_ms : 0;
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
        pli_impi_net_link_drop(net, h);
    }
    for (int i = 0; i < MAX_PENDING; i++) {
        if (net->pending[i].s.fd >= 0) {
            pli_impi_net_drop(net, &net->pending[i].s);
        }
    }
}
