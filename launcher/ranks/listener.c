// SPDX-License-Identifier: BSD-3-Clause
// Accepts connections for the ranks of this host. A caller is not trusted until it has proved to be
// of the job: it has a few seconds and a few dozen bytes, and when there are too many callers those
// that have proved least are dropped.
#include "launcher/ranks/listener.h"

#include "launcher/base/launcher.h"
#include "launcher/base/accept.h"
#include "base/clock.h"
#include "base/conf.h"
#include "boot/address.h"
#include "boot/accept_wire.h"
#include "base/fdpass.h"
#include "boot/listen.h"
#include "boot/handshake_accept.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TICK_MS = 500 }; // how often it is looked at how long callers take

// A caller that has not been let in.
struct pli_listener_caller {
    struct pli_watch watch; // first
    struct pli_handshake_accept who;
};

// A connection on its way to a rank.
struct pending_call {
    struct pending_call *next;
    struct pli_accept_msg msg;
    int fd;
};

// The way to one rank of this host.
struct pli_listener_rank {
    struct pli_watch watch; // first
    struct pending_call *first, *last;
    bool is_shut;
};

static void call_fire(struct pli_watch *w, uint32_t events);
static void tick(struct pli_timer *t);

static void need_tick(void)
{
    struct pli_listener_state *self = pli_launcher.listener;
    if (self->timer.at == 0) {
        pli_loop_timer(&self->timer, (uint64_t)TICK_MS * PLI_MS);
    }
}

// Hand over what waits for this rank. A rank that is gone gets nothing: its caller finds the
// connection closed.
static void deliver(struct pli_listener_rank *p)
{
    while (p->first != NULL && (p->watch.fd >= 0 || p->is_shut)) {
        struct pending_call *v = p->first;
        ssize_t n = p->is_shut ? 0
                               : pli_fdpass_over(p->watch.fd, &v->msg, sizeof v->msg, &v->fd, 1,
                                                 MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            pli_loop_watch(&p->watch, EPOLLOUT);
            return;
        }
        if (n < 0 && (errno == ETOOMANYREFS || errno == ENOBUFS)) {
            need_tick(); // ranks are slow to take what was handed to them
            return;
        }
        p->first = v->next;
        close(v->fd);
        free(v);
    }
    if (p->watch.fd >= 0) {
        pli_loop_watch(&p->watch, 0);
    }
}

static void rank_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    deliver((struct pli_listener_rank *)w);
}

// It is gone, or let in: there is room for another.
static void drop(struct pli_listener_caller *s)
{
    struct pli_listener_state *self = pli_launcher.listener;
    pli_loop_close(&s->watch);
    s->who.fd = -1;
    if (self->is_crowded) {
        self->is_crowded = false;
        pli_loop_watch(&self->listener, EPOLLIN);
    }
}

static void admit(struct pli_listener_caller *s)
{
    struct pli_listener_state *self = pli_launcher.listener;
    const struct pli_node_proc *to = pli_node_find(self->node, s->who.join.to);
    // With pretended hosts every process of the job is reached through this listener.
    bool is_here = to != NULL && to->row < pli_node_n_used(self->node) &&
                   self->node->rows[to->row].index == s->who.join.to;
    if (!is_here || pli_node_find(self->node, s->who.join.from) == NULL ||
        s->who.join.lane >= PLI_NODE_N_LANE || s->who.join.to_lane >= PLI_NODE_N_LANE) {
        drop(s);
        return;
    }
    struct pending_call *v = calloc(1, sizeof *v);
    int fd = v != NULL ? dup(s->watch.fd) : -1; // a watched descriptor is closed by the loop
    drop(s);
    if (fd < 0) {
        free(v);
        return;
    }
    v->fd = fd;
    v->msg = (struct pli_accept_msg){ .kind = PLI_ACCEPT_CALL,
                                      .proc = s->who.join.from,
                                      .lane = s->who.join.lane,
                                      .to_lane = s->who.join.to_lane,
                                      .is_again = s->who.join.is_again,
                                      .protect = s->who.join.protect };
    pli_handshake_make_keys(self->node->header->secret, &s->who.open, &s->who.reply, &s->who.join,
                            false, &v->msg.keys);
    struct pli_listener_rank *p = &self->ranks[to->row];
    if (p->first == NULL) {
        p->first = v;
    } else {
        p->last->next = v;
    }
    p->last = v;
    deliver(p);
}

static void caller_fire(struct pli_watch *w, uint32_t events)
{
    struct pli_listener_state *self = pli_launcher.listener;
    (void)events;
    struct pli_listener_caller *s = (struct pli_listener_caller *)w;
    enum pli_err err = pli_handshake_accept_step(&s->who, self->node->header->secret);
    if (err == PLI_OK) {
        admit(s);
    } else if (err != PLI_AGAIN) {
        drop(s);
    }
}

static void call_fire(struct pli_watch *w, uint32_t events)
{
    struct pli_listener_state *self = pli_launcher.listener;
    (void)events;
    for (int i = 0; i < PLI_HANDSHAKE_ACCEPT_AT_ONCE; i++) {
        struct pli_handshake_accept *at = pli_handshake_accept_room(
            &self->callers[0].who, sizeof self->callers[0], PLI_HANDSHAKE_ACCEPT_N);
        if (at == NULL) {
            self->is_crowded = true;
            pli_loop_watch(w, 0); // until one of them has joined, or the tick
            need_tick();
            return;
        }
        struct pli_handshake_accept who;
        if (!pli_handshake_accept_accept(w->fd, &who)) {
            pli_accept_pause(w); // for want of a descriptor it would be ready for ever
            return;
        }
        struct pli_listener_caller *s =
            (struct pli_listener_caller *)((char *)at - offsetof(struct pli_listener_caller, who));
        pli_loop_close(&s->watch);
        *s = (struct pli_listener_caller){ .watch = { .fd = who.fd, .fire = caller_fire },
                                           .who = who };
        pli_loop_watch(&s->watch, EPOLLIN);
        need_tick();
    }
}

static void tick(struct pli_timer *t)
{
    struct pli_listener_state *self = pli_launcher.listener;
    (void)t;
    uint64_t now = pli_clock_ns();
    bool is_busy = false;
    for (int i = 0; i < PLI_HANDSHAKE_ACCEPT_N; i++) {
        struct pli_listener_caller *s = &self->callers[i];
        if (s->watch.fd >= 0 &&
            now - s->who.since > (uint64_t)PLI_HANDSHAKE_ACCEPT_TIMEOUT_MS * PLI_MS) {
            drop(s);
        }
        is_busy = is_busy || s->watch.fd >= 0;
    }
    for (uint32_t r = 0; r < pli_node_n_used(self->node); r++) {
        if (self->ranks[r].first != NULL) {
            deliver(&self->ranks[r]);
        }
    }
    if (self->is_crowded) { // some may have had their time
        self->is_crowded = false;
        pli_loop_watch(&self->listener, EPOLLIN);
    }
    if (is_busy) {
        need_tick();
    }
}

// Whether this host's own address can be reached: the loopback of a new network namespace is down,
// and ranks would find out only when they call each other.
static bool has_loopback(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); // connecting sends nothing
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(9),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool is_up = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    int why = errno;
    close(fd);
    if (!is_up) {
        pli_say("TCP between ranks of this host needs its loopback, and 127.0.0.1 cannot be "
                "reached: %s. As root, 'ip link set lo up' sets it up",
                strerror(why));
    }
    return is_up;
}

bool pli_listener_open(struct pli_node *node, bool is_wide)
{
    struct pli_listener_state *self = pli_launcher.listener;
    pli_conf_load();
    self->node = node;
    self->callers = pli_say_need(calloc(PLI_HANDSHAKE_ACCEPT_N, sizeof *self->callers));
    for (int i = 0; i < PLI_HANDSHAKE_ACCEPT_N; i++) {
        self->callers[i].watch.fd = self->callers[i].who.fd = -1;
    }
    self->ranks =
        pli_say_need(calloc(node->header->n_row + node->header->n_more, sizeof *self->ranks));
    for (uint32_t r = 0; r < node->header->n_row + node->header->n_more; r++) {
        self->ranks[r].watch = (struct pli_watch){ .fd = -1, .fire = rank_fire };
    }
    struct pli_node_host *h = &node->hosts[node->header->host_index];
    h->n_addr = 1;
    h->addr[0] = pli_address_loopback();
    if (!is_wide && !has_loopback()) {
        return false;
    }
    if (is_wide && pli_address_list(pli_conf.tcp_if, h->addr, &h->n_addr) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    if (pli_listen_open(is_wide, &self->listener.fd, &h->port) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    node->header->net |= PLI_NODE_HAS_NET;
    for (uint32_t i = 1; i < self->n_pretend; i++) {
        node->hosts[i].port = h->port;
        node->hosts[i].n_addr = h->n_addr;
        memcpy(node->hosts[i].addr, h->addr, sizeof h->addr);
    }
    return true;
}

void pli_listener_begin(void)
{
    struct pli_listener_state *self = pli_launcher.listener;
    pli_loop_watch(&self->listener, EPOLLIN);
}

bool pli_listener_pair(int *ours_out, int *theirs_out)
{
    struct pli_listener_state *self = pli_launcher.listener;
    int pair[2] = { -1, -1 };
    if (self->listener.fd >= 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return false;
    }
    *ours_out = pair[0];
    *theirs_out = pair[1];
    return true;
}

void pli_listener_set(uint32_t row, int fd)
{
    struct pli_listener_state *self = pli_launcher.listener;
    if (fd < 0) {
        return;
    }
    if (self->ranks == NULL || row >= self->node->header->n_row + self->node->header->n_more ||
        self->ranks[row].watch.fd >= 0) {
        close(fd);
        return;
    }
    self->ranks[row].watch.fd = fd;
    self->ranks[row].is_shut = false; // the row may have been another's
    deliver(&self->ranks[row]);
}

void pli_listener_part(uint32_t row)
{
    struct pli_listener_state *self = pli_launcher.listener;
    if (self->ranks != NULL) {
        pli_loop_close(&self->ranks[row].watch);
    }
}

bool pli_listener_again(struct pli_node *node)
{
    struct pli_listener_state *self = pli_launcher.listener;
    self->n_pretend = node->header->n_host > 1 ? node->header->n_host : 0;
    return pli_listener_open(node, false);
}

void pli_listener_shut(uint32_t row)
{
    struct pli_listener_state *self = pli_launcher.listener;
    if (self->ranks != NULL) {
        pli_loop_close(&self->ranks[row].watch);
        self->ranks[row].is_shut = true;
        deliver(&self->ranks[row]);
    }
}

void pli_listener_pretend(struct pli_node *node, uint32_t n)
{
    struct pli_listener_state *self = pli_launcher.listener;
    struct pli_node_header *h = node->header;
    self->n_pretend = n;
    h->net |= PLI_NODE_PRETENDS;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(node->hosts[i].name, sizeof node->hosts[i].name, "%.48s-%u", h->host, i);
    }
    for (uint32_t r = 0; r < h->n_row; r++) {
        uint32_t host = (uint32_t)((uint64_t)r * n / h->n_row);
        node->rows[r].index = r;
        node->procs[r].host = host;
        node->procs[r].row = r;
        node->hosts[host].n_proc++;
    }
}

void pli_listener_init(void)
{
    struct pli_listener_state *self = pli_launcher.listener;
    self->listener = (struct pli_watch){ .fd = -1, .fire = call_fire };
    self->timer.fire = tick;
}
