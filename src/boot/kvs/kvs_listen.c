// SPDX-License-Identifier: BSD-3-Clause
// Makes connections between the ranks of a job of another launcher.
// A rank listens itself: the process that answers is the one wanted, so two ranks can meet whatever
// the others of their hosts are doing. Ports go through the host's memory to its first rank, from
// there as a few words to the first ranks of the other hosts, and so into their memories.
#include "boot/kvs/kvs_listen.h"

#include "base/conf.h"
#include "base/epollset.h"
#include "base/futex.h"
#include "base/nofile.h"
#include "boot/address.h"
#include "boot/cores.h"
#include "boot/listen.h"
#include "boot/handshake_accept.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define KEY_AT "pliant-at"

enum {
    EVENTS = 16,
    IN_WORD = (PLI_KVS_VALUE - 2) / 2, // bytes in a word, as hexadecimal digits
    MEET_S = 120,                      // for a rank of this host, between two steps of MPI_Init
    ALL_TOLD = 1 << 30,                // in the header's `met`: the tables are complete
    AT_MAGIC = 0x41494c50              // "PLIA" where numbers are as here
};

// What the first rank of a host says about it, with the addresses and a port for every rank behind.
struct at {
    uint32_t magic, version;
    uint32_t n_row, n_addr;
    uint64_t cores;
    char name[64];
};

struct caller {
    struct pli_handshake_accept who; // first
    uint64_t key;                    // in the set
};

static struct {
    int listener;
    uint64_t key; // of the listener in the set
    struct pli_epollset *set;
    bool is_crowded;        // the listener is not watched
    struct caller *callers; // [PLI_HANDSHAKE_ACCEPT_N], made at the first call
    pthread_mutex_t lock;   // guards the callers and the set
} net = { .listener = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t at_size(const struct at *at)
{
    return sizeof *at + at->n_addr * sizeof(struct pli_node_addr) + at->n_row * sizeof(uint16_t);
}

// Put any bytes, as many words as it takes.
static enum pli_err put_bytes(const struct pli_kvs *s, const unsigned char *data, size_t len)
{
    enum pli_err err = PLI_OK;
    for (size_t at = 0, k = 0; at < len && err == PLI_OK; at += IN_WORD, k++) {
        char key[64], text[PLI_KVS_VALUE] = "";
        snprintf(key, sizeof key, KEY_AT "-%zu", k);
        for (size_t i = at; i < len && i < at + IN_WORD; i++) {
            snprintf(text + 2 * (i - at), 3, "%02x", data[i]);
        }
        err = s->put(key, text);
    }
    return err;
}

// Get the first or further bytes of what this process has put.
static enum pli_err get_bytes(const struct pli_kvs *s, uint32_t owner, unsigned char *data,
                              size_t from, size_t len)
{
    for (size_t at = from; at < len; at += IN_WORD) {
        char key[64], text[PLI_KVS_VALUE];
        snprintf(key, sizeof key, KEY_AT "-%zu", at / IN_WORD);
        enum pli_err err = s->get(owner, key, text, sizeof text);
        if (err != PLI_OK) {
            return err;
        }
        for (size_t i = at; i < len && i < at + IN_WORD; i++) {
            unsigned v;
            if (sscanf(text + 2 * (i - at), "%2x", &v) != 1) {
                return pli_fail(PLI_ERR_OTHER, "%s gave '%s' for the addresses of rank %u", s->name,
                                text, owner);
            }
            data[i] = (unsigned char)v;
        }
    }
    return PLI_OK;
}

// As the host's first rank: tell the others where its ranks listen.
static enum pli_err tell_here(const struct pli_kvs *s, struct pli_boot *boot)
{
    const struct pli_node *node = &boot->node;
    const struct pli_node_host *h = &node->hosts[boot->host];
    struct at at = { AT_MAGIC, PLI_NODE_VERSION, node->header->n_row, h->n_addr, h->cores, "" };
    memcpy(at.name, h->name, sizeof at.name);
    unsigned char *data = malloc(at_size(&at)), *to = data;
    if (data == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a list of %u ports", at.n_row);
    }
    memcpy(to, &at, sizeof at);
    to += sizeof at;
    memcpy(to, h->addr, at.n_addr * sizeof h->addr[0]);
    to += at.n_addr * sizeof h->addr[0];
    for (uint32_t r = 0; r < at.n_row; r++) {
        uint16_t port = (uint16_t)node->procs[node->rows[r].index].port;
        memcpy(to + r * sizeof port, &port, sizeof port);
    }
    enum pli_err err = put_bytes(s, data, at_size(&at));
    free(data);
    return err;
}

static enum pli_err check_at(const struct at *at, uint32_t n_row, uint32_t leader)
{
    if (at->magic != AT_MAGIC || at->version != PLI_NODE_VERSION) {
        return pli_fail(PLI_ERR_OTHER,
                        "rank %u runs with another version of Pliant MPI than this one, or on a "
                        "machine of another byte order; use one version on all hosts",
                        leader);
    }
    if (at->n_row != n_row || at->n_addr > PLI_NODE_N_ADDR) {
        return pli_fail(PLI_ERR_OTHER, "rank %u says that its host has %u ranks, not %u", leader,
                        at->n_row, n_row);
    }
    return PLI_OK;
}

// Read what the first rank of another host has told, and write it into the tables.
static enum pli_err hear_host(const struct pli_kvs *s, const struct pli_kvs_map *m,
                              struct pli_node *node, uint32_t host)
{
    struct at at;
    struct pli_node_host *h = &node->hosts[host];
    enum pli_err err = get_bytes(s, m->leader[host], (unsigned char *)&at, 0, sizeof at);
    err = err == PLI_OK ? check_at(&at, h->n_proc, m->leader[host]) : err;
    unsigned char *data = err == PLI_OK ? malloc(at_size(&at)) : NULL;
    if (data == NULL) {
        return err != PLI_OK ? err : pli_fail(PLI_ERR_NOMEM, "no memory for addresses");
    }
    err = get_bytes(s, m->leader[host], data, 0, at_size(&at));
    if (err == PLI_OK) {
        at.name[sizeof at.name - 1] = '\0';
        memcpy(h->name, at.name, sizeof h->name);
        h->n_addr = (uint16_t)at.n_addr;
        h->cores = at.cores;
        memcpy(h->addr, data + sizeof at, at.n_addr * sizeof h->addr[0]);
        const unsigned char *ports = data + sizeof at + at.n_addr * sizeof h->addr[0];
        for (uint32_t p = m->leader[host]; p < s->size; p++) {
            if (m->host_of[p] == host) {
                uint16_t port;
                memcpy(&port, ports + m->row_of[p] * sizeof port, sizeof port);
                node->procs[p].port = port;
            }
        }
    }
    free(data);
    return err;
}

// Wait until the header's `met` is at least this. All ranks have passed a fence of the launcher, so
// one that does not come within this time is dead or stuck.
static enum pli_err wait_met(struct pli_node *node, int at_least)
{
    _Atomic int *met = &node->header->met;
    int v, before = -1, n_nap = 0;
    while ((v = atomic_load_explicit(met, memory_order_acquire)) < at_least) {
        n_nap = v == before ? n_nap + 1 : 0;
        if (n_nap > MEET_S) {
            return pli_fail(PLI_ERR_OTHER,
                            "a rank of this host has begun MPI_Init and not got further for %d "
                            "seconds (%d of its ranks have): it has ended or is stopped",
                            MEET_S, v % ALL_TOLD);
        }
        before = v;
        pli_futex_wait(met, v, false, 1000000000);
    }
    return PLI_OK;
}

static void add_met(struct pli_node *node, int n)
{
    atomic_fetch_add_explicit(&node->header->met, n, memory_order_acq_rel);
    pli_futex_wake(&node->header->met, INT_MAX, false);
}

static enum pli_err open_listener(struct pli_boot *boot)
{
    uint16_t port = 0;
    enum pli_err err = pli_listen_open(true, &net.listener, &port);
    if (err != PLI_OK) {
        return err;
    }
    net.set = pli_epollset_create();
    if (net.set == NULL || !pli_epollset_watch(net.set, &net.key, net.listener, EPOLLIN, &net)) {
        return pli_fail(PLI_ERR_OTHER, "cannot watch the network: %s", strerror(errno));
    }
    boot->node.procs[boot->index].port = port;
    return PLI_OK;
}

// As the host's first rank.
static enum pli_err lead(const struct pli_kvs *s, const struct pli_kvs_map *m,
                         struct pli_boot *boot)
{
    struct pli_node *node = &boot->node;
    struct pli_node_host *h = &node->hosts[boot->host];
    enum pli_err err = pli_address_list(pli_conf.tcp_if, h->addr, &h->n_addr);
    if (err != PLI_OK) {
        return err;
    }
    h->cores = pli_cores_key();
    node->header->net |= PLI_NODE_HAS_NET;
    bool is_apart = strcmp(pli_conf.net, "tcp") == 0 || strcmp(pli_conf.net, "ucx") == 0;
    node->header->net |= is_apart ? PLI_NODE_NO_SHM : 0;
    err = wait_met(node, (int)m->n_here);
    err = err == PLI_OK ? tell_here(s, boot) : err;
    err = err == PLI_OK ? s->fence() : err;
    for (uint32_t host = 0; host < m->n_host && err == PLI_OK; host++) {
        err = host != boot->host ? hear_host(s, m, node, host) : PLI_OK;
    }
    node->header->n_beside = pli_node_beside(node);
    return err;
}

enum pli_err pli_kvs_listen_open(const struct pli_kvs *s, const struct pli_kvs_map *m,
                                 struct pli_boot *boot)
{
    enum pli_err err = open_listener(boot);
    if (err != PLI_OK) {
        return err;
    }
    add_met(&boot->node, 1);
    if (boot->row != 0) {
        err = s->fence();
        return err == PLI_OK ? wait_met(&boot->node, ALL_TOLD) : err;
    }
    err = lead(s, m, boot);
    err = err == PLI_OK ? pli_kvs_map_sets(m, &boot->node) : err;
    if (err == PLI_OK) {
        add_met(&boot->node, ALL_TOLD);
    }
    return err;
}

int pli_kvs_listen_fd(struct pli_boot *boot)
{
    (void)boot;
    return net.set != NULL ? pli_epollset_fd(net.set) : -1;
}

static void drop_caller(struct caller *g)
{
    pli_epollset_remove(net.set, &g->key, g->who.fd);
    close(g->who.fd);
    g->who.fd = -1;
}

// A place for one more. NULL: there is none now, or no memory.
static struct caller *room(void)
{
    if (net.callers == NULL) {
        net.callers = calloc(PLI_HANDSHAKE_ACCEPT_N, sizeof *net.callers);
        for (int i = 0; net.callers != NULL && i < PLI_HANDSHAKE_ACCEPT_N; i++) {
            net.callers[i].who.fd = -1;
        }
    }
    struct pli_handshake_accept *who =
        net.callers == NULL ? NULL
                            : pli_handshake_accept_room(&net.callers[0].who, sizeof net.callers[0],
                                                        PLI_HANDSHAKE_ACCEPT_N);
    return (struct caller *)who; // it is first there
}

// PLI_ERR_NO_SPACE: no descriptor is free, and the caller has to wait. PLI_ERR_PENDING: so it has,
// because there are too many callers that have not proved their identity yet.
static enum pli_err answer_calls(void)
{
    struct pli_handshake_accept who;
    for (int i = 0; i < PLI_HANDSHAKE_ACCEPT_AT_ONCE; i++) {
        struct caller *g = room();
        if (g == NULL) {
            pli_epollset_pause(net.set, net.key, net.listener);
            net.is_crowded = true;
            return PLI_ERR_PENDING;
        }
        if (!pli_handshake_accept_accept(net.listener, &who)) {
            return pli_nofile_is_why(errno) ? PLI_ERR_NO_SPACE : PLI_AGAIN;
        }
        if (g->who.fd >= 0) {
            drop_caller(g);
        }
        if (!pli_epollset_watch(net.set, &g->key, who.fd, EPOLLIN, g)) {
            close(who.fd);
        } else {
            g->who = who;
        }
    }
    return PLI_AGAIN;
}

// Whether this one is let in: then its descriptor is not watched here any more.
static bool is_let_in(struct pli_boot *boot, struct caller *g, struct pli_caller *out)
{
    struct pli_handshake_accept *s = &g->who;
    enum pli_err err = pli_handshake_accept_step(s, boot->node.header->secret);
    bool is_good = err == PLI_OK && s->join.to == boot->index &&
                   s->join.from < boot->node.header->n_world && s->join.lane < PLI_NODE_N_LANE &&
                   s->join.to_lane < PLI_NODE_N_LANE;
    if (is_good) {
        pli_epollset_remove(net.set, &g->key, s->fd);
        *out = (struct pli_caller){ .fd = s->fd,
                                    .proc = s->join.from,
                                    .lane = s->join.lane,
                                    .to_lane = s->join.to_lane,
                                    .protect = s->join.protect };
        struct pli_handshake_keys keys;
        pli_handshake_make_keys(boot->node.header->secret, &s->open, &s->reply, &s->join, false,
                                &keys);
        memcpy(out->keys, &keys, sizeof out->keys);
        s->fd = -1;
    } else if (err != PLI_AGAIN) {
        drop_caller(g);
    }
    return is_good;
}

enum pli_err pli_kvs_listen_accept(struct pli_boot *boot, struct pli_caller *out)
{
    enum pli_err err = PLI_AGAIN;
    enum pli_err calls = PLI_AGAIN;
    if (net.set == NULL || pthread_mutex_trylock(&net.lock) != 0) {
        return PLI_AGAIN; // another thread is at it
    }
    if (net.is_crowded) { // there may be room by now
        net.is_crowded = !pli_epollset_watch(net.set, &net.key, net.listener, EPOLLIN, &net);
    }
    struct epoll_event ev[EVENTS];
    int n = epoll_wait(pli_epollset_fd(net.set), ev, EVENTS, 0);
    for (int i = 0; i < n && err == PLI_AGAIN; i++) {
        void *item = pli_epollset_find(net.set, ev[i].data.u64);
        if (item == &net) {
            calls = answer_calls();
        } else if (item != NULL && is_let_in(boot, item, out)) {
            err = PLI_OK;
        }
    }
    pthread_mutex_unlock(&net.lock);
    return err == PLI_AGAIN ? calls : err;
}

void pli_kvs_listen_close(void)
{
    for (int i = 0; net.callers != NULL && i < PLI_HANDSHAKE_ACCEPT_N; i++) {
        if (net.callers[i].who.fd >= 0) {
            drop_caller(&net.callers[i]);
        }
    }
    free(net.callers);
    net.callers = NULL;
    pli_epollset_destroy(net.set);
    net.set = NULL;
    if (net.listener >= 0) {
        close(net.listener);
    }
    net.key = 0;
    net.listener = -1;
}
