// SPDX-License-Identifier: BSD-3-Clause
// The life of a connection. Either side may call first. When both do at the same moment each
// writes to its own at first, so nothing on its way is lost; then the process with the lower index
// asks the other to come over to its connection, and the other one ends.
//
// A connection that breaks is not reported at once. Mostly the process at the other end has died,
// and the launcher is about to say so and to end the job; its words are better than ours.
//
// After bad news, frames that were begun are completed, or the other side would not understand the
// next one; what belongs to nobody any more is dropped there and here. After a checkpoint the
// connections of a process are other ones: the reader of each finds out when it reads, and goes on
// where it was, first with what was on its way.
#include "net/tcp/tcp_connect.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "ckpt/freeze_hold.h"
#include "base/fault.h"
#include "boot/boot.h"
#include "ckpt/sock.h"
#include "msg/endpoint.h"
#include "msg/failure_hooks.h"
#include "msg/msg_wire.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "net/tcp/dial.h"
#include "net/tcp/secure.h"
#include "net/tcp/tcp_bypass.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_lane.h"
#include "net/tcp/tcp_recv.h"
#include "obj/comm.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    GRACE_S = 2,               // for the launcher to end the job,
    GRACE_MORTAL_S = 15,       // or to say who died, perhaps with a host that does not answer
    LAST_WORDS_NS = 100000000, // for what a process that died has sent
    PATIENCE_S = 5,
    JUDGE_NS = 1000000000
};

static const bool may_go[PLI_N_LINK_STATE][PLI_N_LINK_STATE] = {
    [PLI_TCP_CONN_IDLE] = { [PLI_TCP_CONN_DIALING] = true,
                            [PLI_TCP_CONN_UP] = true,
                            [PLI_TCP_CONN_LOST] = true },
    [PLI_TCP_CONN_DIALING] = { [PLI_TCP_CONN_UP] = true, [PLI_TCP_CONN_LOST] = true },
    [PLI_TCP_CONN_UP] = { [PLI_TCP_CONN_IDLE] = true, [PLI_TCP_CONN_LOST] = true },
    [PLI_TCP_CONN_LOST] = { [PLI_TCP_CONN_UP] = true,
                            [PLI_TCP_CONN_IDLE] = true,
                            [PLI_TCP_CONN_DEAD] = true },
};

static void go(struct pli_tcp_conn *l, enum pli_tcp_conn_state to)
{
    static const char *const names[] = { "idle", "dialing", "up", "lost", "dead" };
    if (!may_go[l->state][to]) {
        pli_log(PLI_ERROR, "the link to rank %u cannot go from %s to %s", l->conn->proc,
                names[l->state], names[to]);
        abort();
    }
    pli_log(PLI_DEBUG, "the link to rank %u, lane %u is %s", l->conn->proc, l->conn->peer_lane,
            names[to]);
    l->net->n_dial += (to == PLI_TCP_CONN_DIALING) - (l->state == PLI_TCP_CONN_DIALING);
    l->net->n_lost += (to == PLI_TCP_CONN_LOST) - (l->state == PLI_TCP_CONN_LOST);
    l->state = to;
}

static void close_sock(struct pli_tcp_sock *s)
{
    struct pli_tcp_lane *net = s->watch.net;
    if (s->watch.fd < 0) {
        return;
    }
    pli_tcp_lane_unwatch(net, &s->watch);
    pli_dial_end(s->watch.fd);
    s->watch.fd = -1;
    net->hot = net->hot == s ? NULL : net->hot;
    s->link->out = s->link->out == s ? NULL : s->link->out;
    s->link->next = s->link->next == s ? NULL : s->link->next;
    pli_tcp_recv_drop(s);
    net->n_sock--;
    pli_list_remove(&s->at);
    pli_list_push(&net->dead, &s->at);
    if (s->link->old == s) {
        s->link->old = NULL;
        if (s->link->out != NULL && s->link->state == PLI_TCP_CONN_UP) {
            pli_tcp_recv_resume(s->link->out);
        }
    }
}

void pli_tcp_connect_moved(struct pli_tcp_sock *s)
{
    close_sock(s);
}

static void close_dial(struct pli_tcp_conn *l)
{
    pli_tcp_lane_unwatch(l->net, &l->dial_watch);
    pli_dial_close(l->dial);
    l->dial = NULL;
    l->dial_watch.fd = -1;
}

void pli_tcp_connect_lose(struct pli_tcp_conn *l, const char *why)
{
    if (l->state >= PLI_TCP_CONN_LOST) {
        return;
    }
    snprintf(l->why, sizeof l->why, "%s", why);
    go(l, PLI_TCP_CONN_LOST); // first: what follows may want to write
    l->lost_ns = pli_clock_ns();
    close_dial(l);
    struct pli_list *at = l->net->socks.next;
    while (at != &l->net->socks) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        at = at->next;
        if (s->link == l) {
            close_sock(s);
        }
    }
    pli_list_remove(&l->busy);
    pli_log(PLI_INFO, "lost the connection to rank %u: %s", l->conn->proc, why);
}

static bool has_other(const struct pli_tcp_sock *s)
{
    const struct pli_list *socks = &s->link->net->socks;
    for (const struct pli_list *at = socks->next; at != socks; at = at->next) {
        const struct pli_tcp_sock *other = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        if (other != s && other->link == s->link) {
            return true;
        }
    }
    return false;
}

void pli_tcp_connect_closed(struct pli_tcp_sock *s, const char *why)
{
    struct pli_tcp_conn *l = s->link;
    if (s->left == 0 && s->n_head == 0 && has_other(s)) {
        close_sock(s); // its last words may come over the other one
        return;
    }
    if (l->ucx != NULL) {
        l->net->bypass->finish(l);
    }
    bool is_clean = l->has_left && s->left == 0 && s->n_head == 0;
    bool is_last = l->state == PLI_TCP_CONN_UP;
    if (!is_clean || (is_last && !pli_tcp_conn_forget(l))) {
        l->is_open_ended = s->left == 0 && s->n_head == 0;
        pli_tcp_connect_lose(l, is_clean ? "it has left MPI" : why != NULL ? why : "it hung up");
        return;
    }
    close_sock(s);
    if (is_last) {
        pli_list_remove(&l->busy);
        l->is_gone = true;
        go(l, PLI_TCP_CONN_IDLE);
    }
}

void pli_tcp_connect_left(struct pli_tcp_conn *l)
{
    if (l->state != PLI_TCP_CONN_LOST || !pli_tcp_conn_forget(l)) {
        return;
    }
    l->has_left = true;
    l->is_gone = true;
    go(l, PLI_TCP_CONN_IDLE);
}

// A connection stands: it is read from now on, and written if the link has no other. The keys
// protect it where PLIANT_NET_PROTECT asks for that.
static void take(struct pli_tcp_conn *l, int fd, const unsigned char keys[2][32])
{
    struct pli_tcp_sock *s = calloc(1, sizeof *s);
    const char *why = "the connection cannot be used";
    bool is_good = s != NULL;
    if (is_good && pli_secure_create(pli_secure_level(), keys, &s->secure) != PLI_OK) {
        why = pli_fail_take(NULL);
        is_good = false;
    }
    if (!is_good || pli_dial_tune(fd, (int)pli_conf.tcp_timeout) != PLI_OK) {
        if (s != NULL) {
            pli_secure_destroy(s->secure);
        }
        free(s);
        pli_dial_end(fd);
        pli_tcp_connect_lose(l, why);
        return;
    }
    s->watch = (struct pli_fd_watch){ .fd = fd, .see = pli_tcp_recv_ready, .net = l->net };
    s->link = l;
    pli_list_push(&l->net->socks, &s->at);
    l->net->n_sock++;
    if (!pli_tcp_lane_watch(l->net, &s->watch, EPOLLIN)) {
        pli_tcp_connect_lose(l, "the connection cannot be watched");
        return;
    }
    bool is_second = l->out != NULL;
    if (!is_second && l->state != PLI_TCP_CONN_LOST) {
        l->out = s;
        l->is_deaf = false;
    }
    if (l->state != PLI_TCP_CONN_UP) {
        go(l, PLI_TCP_CONN_UP);
    }
    if (is_second && l->old == NULL && pli_proc.boot->index < l->conn->proc) {
        l->old = s;
        pli_tcp_conn_note(l, PLI_MSG_MERGE, 0, 0, 0);
    }
    pli_tcp_conn_push(l);
}

// A dial is about to close its descriptor.
static void unwatch_dial(void *arg)
{
    struct pli_tcp_conn *l = arg;
    pli_tcp_lane_unwatch(l->net, &l->dial_watch);
    l->dial_watch.fd = -1;
}

static void watch_dial(struct pli_tcp_conn *l)
{
    l->dial_watch.fd = pli_dial_fd(l->dial);
    if (l->dial_watch.fd >= 0 &&
        !pli_tcp_lane_watch(l->net, &l->dial_watch, pli_dial_events(l->dial))) {
        pli_tcp_connect_lose(l, "the connection cannot be watched");
    }
}

static void step_dial(struct pli_tcp_conn *l)
{
    enum pli_err err = pli_dial_step(l->dial);
    if (err == PLI_OK) {
        pli_tcp_lane_unwatch(l->net, &l->dial_watch);
        unsigned char keys[2][32];
        pli_dial_keys(l->dial, keys);
        int fd = pli_dial_take(l->dial);
        close_dial(l);
        take(l, fd, keys);
        explicit_bzero(keys, sizeof keys);
        return;
    }
    if (err != PLI_AGAIN) {
        pli_tcp_connect_lose(l, pli_fail_take(NULL));
        return;
    }
    watch_dial(l);
}

static void dial_see(struct pli_fd_watch *e, uint32_t events)
{
    (void)events;
    struct pli_tcp_conn *l = PLI_CONTAINER(e, struct pli_tcp_conn, dial_watch);
    if (l->dial != NULL) {
        step_dial(l);
    }
}

void pli_tcp_connect_dial(struct pli_tcp_conn *l)
{
    struct pli_boot *boot = pli_proc.boot;
    struct pli_boot_way way = { 0 };
    enum pli_err err = boot->ops->reach(boot, l->conn->proc, &way);
    struct pli_dial_call call = {
        .secret = boot->node.header->secret,
        .here = &boot->node.hosts[boot->host],
        .there = way.host,
        .port = way.port,
        .is_slow = way.is_direct,
        .from = boot->index,
        .to = l->conn->proc,
        .lane = (uint8_t)l->net->base.lane->index,
        .to_lane = l->conn->peer_lane,
        .patience_ns = (uint64_t)PATIENCE_S * 1000000000u,
        .unwatch = unwatch_dial,
        .arg = l,
    };
    l->dial_watch = (struct pli_fd_watch){ .fd = -1, .see = dial_see, .net = l->net };
    if (err != PLI_OK || pli_dial_open(&call, &l->dial) != PLI_OK) {
        pli_tcp_connect_lose(l, pli_fail_take(NULL));
        return;
    }
    go(l, PLI_TCP_CONN_DIALING);
    watch_dial(l);
}

void pli_tcp_connect_accept(struct pli_tcp_lane *net, const struct pli_caller *c)
{
    uint64_t proc = (net->base.lane->proc & ~(uint64_t)UINT32_MAX) | c->proc;
    struct pli_conn *conn = pli_lane_conn(net->base.lane, (struct pli_id){ proc, c->lane });
    struct pli_tcp_conn *l = conn != NULL ? conn->net : NULL;
    // Who made a connection of its own, wrote its last words to it and ended may have hung up on
    // the other before this one comes by the way of the launcher. It is read, and not written.
    bool is_late = l != NULL && l->state == PLI_TCP_CONN_LOST && l->is_open_ended;
    if (l == NULL || (l->state >= PLI_TCP_CONN_LOST && !is_late)) {
        pli_dial_end(c->fd);
        return;
    }
    if (c->protect != pli_secure_level()) {
        pli_dial_end(c->fd);
        pli_tcp_connect_lose(
            l, "it has another PLIANT_NET_PROTECT than this process; all ranks need the "
               "same");
        return;
    }
    if (l->state == PLI_TCP_CONN_DIALING) {
        close_dial(l); // it has carried nothing yet
    }
    l->has_left = false;
    take(l, c->fd, c->keys);
}

// A request that hangs on a link that is gone.
static void fail(struct pli_request *r, enum pli_err fate)
{
    pli_rndv_drop_cursor(r);
    pli_request_complete(r, fate);
}

static bool is_from(struct pli_match_item *i, void *arg)
{
    const struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
    const struct pli_conn *c = arg;
    return i->source >= 0 && r->comm != NULL && i->source < r->comm->n_peer &&
           (uint32_t)pli_group_at(r->comm->remote, i->source).proc == c->proc;
}

// Receives that only this process could have satisfied.
static void fail_posted(struct pli_tcp_conn *l)
{
    struct pli_lane *lane = l->net->base.lane;
    for (uint32_t c = 0; c < lane->n_chunk; c++) {
        for (uint32_t k = 0; lane->eps[c] != NULL && k < PLI_LANE_CHUNK; k++) {
            struct pli_endpoint *ep = lane->eps[c][k];
            struct pli_match_item *i;
            while (ep != NULL && (i = pli_match_scan(&ep->match, is_from, l->conn)) != NULL) {
                struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
                pli_match_unpost(&ep->match, i);
                r->state &= (uint16_t)~PLI_REQ_POSTED;
                r->source = i->source;
                r->tag = i->tag;
                pli_request_complete(r, l->fate);
            }
        }
    }
}

static void bury(struct pli_tcp_conn *l)
{
    struct pli_boot *boot = pli_proc.boot;
    const struct pli_node_proc *p = pli_node_find(&boot->node, l->conn->proc);
    pli_log(l->died_ns != 0 ? PLI_INFO : PLI_WARN, "rank %u on host %s is lost: %s", l->conn->proc,
            p != NULL ? boot->node.hosts[p->host].name : "?", l->why);
    l->fate = l->died_ns != 0 ? PLI_ERR_PROC_FAILED : PLI_ERR_PROC_ABORTED;
    l->net->n_dying -= l->died_ns != 0;
    l->conn->is_dead = true;
    go(l, PLI_TCP_CONN_DEAD);
    l->net->base.lane->n_dead++;
    struct pli_request *writing = l->req != NULL && l->head.kind == PLI_MSG_EAGER ? l->req : NULL;
    l->req = NULL;
    l->head_left = 0;
    l->body_left = 0;
    free(l->bounce);
    l->bounce = NULL;
    if (l->ucx != NULL) {
        l->net->bypass->bury(l);
    }
    while (!pli_list_is_empty(&l->streams)) {
        pli_list_remove(l->streams.next); // their ids are out
    }
    while (!pli_list_is_empty(&l->notes)) {
        struct pli_list *n = l->notes.next;
        pli_list_remove(n);
        free(n);
    }
    enum pli_reqid_kind kind;
    struct pli_request *r;
    while ((r = pli_reqid_reclaim(&l->net->reqids, l->conn, &kind)) != NULL) {
        fail(r, l->fate);
    }
    if (writing != NULL) {
        fail(writing, l->fate);
    }
    while (!pli_list_is_empty(&l->pending)) {
        r = PLI_CONTAINER(l->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        fail(r, l->fate);
    }
    fail_posted(l);
}

// Its process died: read all that it had sent.
static void drain(struct pli_tcp_conn *l)
{
    struct pli_list *at = l->net->socks.next;
    while (at != &l->net->socks && l->state == PLI_TCP_CONN_UP) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        at = at->next;
        if (s->link == l && pli_tcp_recv_read(s) > 0) {
            at = l->net->socks.next; // there may be more, and others may be gone
        }
    }
    bool is_over = (l->state == PLI_TCP_CONN_LOST || l->is_gone) &&
                   (l->ucx == NULL || l->net->bypass->is_finished(l));
    if (!is_over && pli_clock_ns() - l->died_ns > LAST_WORDS_NS) {
        is_over = true;
    }
    if (is_over) {
        pli_tcp_connect_lose(l, "it died");
        bury(l);
    }
}

// Data that is not acknowledged although it was sent again and again: the host is gone, or the way
// to it. One that merely does not take more is not meant: it answers. TCP_USER_TIMEOUT would not
// tell the two apart.
static void judge_up(struct pli_tcp_conn *l)
{
    struct tcp_info info;
    socklen_t len = sizeof info;
    if (l->out == NULL || getsockopt(l->out->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) {
        return;
    }
    if (info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 &&
        info.tcpi_last_ack_recv > (uint32_t)pli_conf.tcp_timeout * 1000) {
        char why[80];
        snprintf(why, sizeof why, "its host has not answered for %u s",
                 info.tcpi_last_ack_recv / 1000);
        pli_tcp_connect_lose(l, why);
    }
}

void pli_tcp_connect_check(struct pli_tcp_lane *net)
{
    uint64_t now = pli_clock_ns();
    bool is_time = now - net->judged_ns > JUDGE_NS;
    uint64_t grace = (uint64_t)(pli_request_is_mortal ? GRACE_MORTAL_S : GRACE_S) * 1000000000u;
    net->judged_ns = is_time ? now : net->judged_ns;
    net->is_judged = true;
    struct pli_list *at = net->links.next;
    while (at != &net->links) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        at = at->next;
        if (l->state == PLI_TCP_CONN_DIALING && (is_time || now > pli_dial_until(l->dial))) {
            step_dial(l);
        } else if (l->state != PLI_TCP_CONN_DEAD && l->died_ns != 0) {
            drain(l);
        } else if (l->state == PLI_TCP_CONN_LOST && now - l->lost_ns > grace) {
            bury(l);
        } else if (l->state == PLI_TCP_CONN_UP && is_time && l->is_unsure) {
            judge_up(l);
        }
        if (l->ucx != NULL && l->state == PLI_TCP_CONN_UP) {
            net->bypass->check(l, now);
        }
    }
    net->is_judged = false;
}

// The user may do with the buffer what he wants: keep what is still to be written of it.
static void detach(struct pli_tcp_conn *l)
{
    if (l->body_left > 0 && l->bounce == NULL) {
        l->bounce = malloc(l->body_left);
        if (l->bounce == NULL) {
            l->req = NULL;
            pli_tcp_connect_lose(l, "there is no memory for a message that was begun");
            return;
        }
        memcpy(l->bounce, l->body, l->body_left);
        l->body = l->bounce;
    }
    l->req = NULL;
}

// What comes of it is read, and goes nowhere.
static void divert(struct pli_tcp_conn *l, const struct pli_request *r)
{
    for (struct pli_list *at = l->net->socks.next; at != &l->net->socks; at = at->next) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        if (s->recv == r) {
            s->recv = NULL;
            s->to = s->parcel != NULL ? s->to : NULL;
        }
    }
}

// Of those that wait, or whose data is being written. One that is offered is in no list.
static void unlist(struct pli_list *list, struct pli_request *r)
{
    for (struct pli_list *at = list->next; at != list; at = at->next) {
        if (at == &r->link) {
            pli_list_remove(at);
            return;
        }
    }
}

static void withdraw(struct pli_tcp_conn *l, struct pli_request *r, enum pli_err err)
{
    if (l->req == r) {
        detach(l);
    }
    if ((r->flags & PLI_REQ_SEND) != 0) {
        unlist(&l->pending, r);
        unlist(&l->streams, r);
        if (l->net->ucx != NULL) {
            l->net->bypass->unqueue(l, r);
        }
    } else {
        divert(l, r);
    }
    pli_rndv_drop_cursor(r);
    pli_request_complete(r, err);
}

static enum pli_err judge_request(const struct pli_tcp_conn *l, const struct pli_request *r)
{
    int peer = (r->flags & PLI_REQ_SEND) != 0 ? r->source : r->item.source;
    return pli_failure_hooks->judge(l->net->base.lane, r, peer);
}

static void fail_tickets(struct pli_tcp_conn *l)
{
    struct pli_reqid_table *t = &l->net->reqids;
    for (uint32_t i = 0; i < t->n; i++) {
        enum pli_reqid_kind kind;
        struct pli_request *r = pli_reqid_at(t, i, l->conn, &kind);
        enum pli_err err = r != NULL ? judge_request(l, r) : PLI_OK;
        if (err == PLI_OK) {
            continue;
        }
        if (err == PLI_ERR_WORLD_RESIZED) {
            // What was not found yet is asked back: nothing may be lost or doubled.
            if (kind == PLI_REQID_SEND && (r->state & (PLI_REQ_CANCELLING | PLI_REQ_ASKED)) == 0) {
                r->err = (int16_t)err;
                pli_tcp_conn_unsend(r);
            }
            continue;
        }
        if (l->ucx != NULL && l->net->bypass->is_in_use(l, r)) {
            continue;
        }
        l->n_asked -= kind == PLI_REQID_RECV;
        pli_reqid_haunt(t, i);
        withdraw(l, r, err);
    }
}

// Messages whose receive is known and whose data is coming unasked.
static void fail_coming(struct pli_tcp_conn *l)
{
    for (struct pli_list *at = l->net->socks.next; at != &l->net->socks; at = at->next) {
        const struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        struct pli_request *r = s->link == l && s->left > 0 ? s->recv : NULL;
        enum pli_err err =
            r != NULL && s->frame.kind != PLI_MSG_DATA ? judge_request(l, r) : PLI_OK;
        if (err != PLI_OK && err != PLI_ERR_WORLD_RESIZED) {
            withdraw(l, r, err);
        }
    }
}

static void fail_unsent(struct pli_tcp_conn *l)
{
    struct pli_list *at = l->pending.next;
    while (at != &l->pending) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        enum pli_err err = judge_request(l, r);
        at = at->next;
        if (err != PLI_OK) {
            withdraw(l, r, err);
        }
    }
    // Of what is being written unasked no ticket is out. After a resize it is completed.
    struct pli_request *r = l->head.kind == PLI_MSG_EAGER ? l->req : NULL;
    enum pli_err err = r != NULL ? judge_request(l, r) : PLI_OK;
    if (err != PLI_OK && err != PLI_ERR_WORLD_RESIZED) {
        withdraw(l, r, err);
    }
}

void pli_tcp_connect_fail(struct pli_tcp_conn *l, bool has_died)
{
    if (l->state == PLI_TCP_CONN_DEAD) {
        return;
    }
    if (!has_died) {
        fail_unsent(l);
        fail_coming(l);
        fail_tickets(l);
        return;
    }
    if (l->died_ns == 0) {
        l->died_ns = pli_clock_ns();
        l->net->n_dying++;
    }
    drain(l);
}

enum found { NOTHING, FAILED, FOUND };

// Put the new connection where the old one was. Meanwhile the process is held: the next checkpoint
// would give up the old descriptor alone, and the new one would stay open.
static enum found replace(struct pli_tcp_sock *s, const char **kept_out, size_t *len_out,
                          size_t *cap_out)
{
    enum found found = NOTHING;
    pli_freeze_hold();
    int now = pli_sock_take(s->watch.fd, kept_out, len_out, cap_out);
    if (now >= 0) {
        pli_tcp_lane_unwatch(s->link->net, &s->watch); // what it is now has copies in other places
        found = dup3(now, s->watch.fd, O_CLOEXEC) >= 0 ? FOUND : FAILED;
        pli_fault_hold("tcp_resume", pli_boot.index);
        close(now);
    }
    pli_freeze_let();
    return found;
}

bool pli_tcp_connect_resume(struct pli_tcp_sock *s)
{
    struct pli_tcp_conn *l = s->link;
    const char *kept = NULL;
    size_t len = 0, cap = 0;
    bool is_bare = s->watch.is_bare;
    enum found found = replace(s, &kept, &len, &cap);
    if (found == NOTHING) {
        return false;
    }
    if (pli_dial_tune(s->watch.fd, (int)pli_conf.tcp_timeout) != PLI_OK) {
        pli_fail_take(NULL); // what has ended for good is no connection
    }
    uint32_t events = s->rest != NULL ? 0 : s->is_armed ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (found == FAILED || (!is_bare && !pli_tcp_lane_watch(l->net, &s->watch, events))) {
        pli_tcp_connect_lose(l, "the connection cannot be watched");
    } else {
        s->watch.is_bare = is_bare;
        l->is_deaf = s == l->out ? false : l->is_deaf;
        pli_tcp_recv_feed(s, kept, len);
    }
    pli_sock_forget(kept, cap);
    pli_tcp_conn_push(l);
    return true;
}
