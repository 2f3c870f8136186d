// SPDX-License-Identifier: BSD-3-Clause
// Makes and ends connections. Either side may connect first. When both do at the same moment each
// writes to its own at first, so nothing on its way is lost; then the process with the lower index
// asks the other to come over to its connection, and the other one ends.
//
// A connection that breaks is not reported at once. Mostly the process at the other end has died,
// and the launcher is about to say so and to end the job; its message says more.
//
// After a failure, frames that were begun are completed, or the other side would not understand the
// next one; data of requests that were withdrawn is dropped on both sides. After a checkpoint the
// connections of a process are other ones: the reader of each finds out when it reads, and goes on
// where it was, first with what was on its way.
#include "net/tcp/tcp_connect.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "ckpt/freeze_hold.h"
#include "base/fault.h"
#include "boot/boot.h"
#include "boot/ckpt_wire.h"
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
    GRACE_S = 2,          // for the launcher to end the job,
    GRACE_MORTAL_S = 15,  // or to say which process died, perhaps with a host that does not answer
    DRAIN_NS = 100000000, // for what a process that died has sent
    DIAL_TIMEOUT_S = 5,
    CHECK_NS = 1000000000
};

static const bool may_go[PLI_N_TCP_CONN_STATE][PLI_N_TCP_CONN_STATE] = {
    [PLI_TCP_CONN_IDLE] = { [PLI_TCP_CONN_DIALING] = true,
                            [PLI_TCP_CONN_UP] = true,
                            [PLI_TCP_CONN_LOST] = true },
    [PLI_TCP_CONN_DIALING] = { [PLI_TCP_CONN_UP] = true, [PLI_TCP_CONN_LOST] = true },
    [PLI_TCP_CONN_UP] = { [PLI_TCP_CONN_IDLE] = true, [PLI_TCP_CONN_LOST] = true },
    [PLI_TCP_CONN_LOST] = { [PLI_TCP_CONN_UP] = true,
                            [PLI_TCP_CONN_IDLE] = true,
                            [PLI_TCP_CONN_DEAD] = true },
};

static void go(struct pli_tcp_conn *tc, enum pli_tcp_conn_state to)
{
    static const char *const names[] = { "idle", "dialing", "up", "lost", "dead" };
    if (!may_go[tc->state][to]) {
        pli_log(PLI_ERROR, "the connection to rank %u cannot go from %s to %s", tc->conn->proc,
                names[tc->state], names[to]);
        abort();
    }
    pli_log(PLI_DEBUG, "the connection to rank %u, lane %u is %s", tc->conn->proc,
            tc->conn->peer_lane, names[to]);
    tc->net->n_dial += (to == PLI_TCP_CONN_DIALING) - (tc->state == PLI_TCP_CONN_DIALING);
    tc->net->n_lost += (to == PLI_TCP_CONN_LOST) - (tc->state == PLI_TCP_CONN_LOST);
    tc->state = to;
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
    net->active = net->active == s ? NULL : net->active;
    s->owner->out = s->owner->out == s ? NULL : s->owner->out;
    s->owner->next = s->owner->next == s ? NULL : s->owner->next;
    pli_tcp_recv_drop(s);
    net->n_sock--;
    pli_list_remove(&s->at);
    pli_list_push(&net->dead, &s->at);
    if (s->owner->old == s) {
        s->owner->old = NULL;
        if (s->owner->out != NULL && s->owner->state == PLI_TCP_CONN_UP) {
            pli_tcp_recv_resume(s->owner->out);
        }
    }
}

void pli_tcp_connect_moved(struct pli_tcp_sock *s)
{
    close_sock(s);
}

static void close_dial(struct pli_tcp_conn *tc)
{
    pli_tcp_lane_unwatch(tc->net, &tc->dial_watch);
    pli_dial_close(tc->dial);
    tc->dial = NULL;
    tc->dial_watch.fd = -1;
}

void pli_tcp_connect_lose(struct pli_tcp_conn *tc, const char *why)
{
    if (tc->state >= PLI_TCP_CONN_LOST) {
        return;
    }
    snprintf(tc->why, sizeof tc->why, "%s", why);
    go(tc, PLI_TCP_CONN_LOST); // first: what follows may want to write
    tc->lost_ns = pli_clock_ns();
    close_dial(tc);
    struct pli_list *at = tc->net->socks.next;
    while (at != &tc->net->socks) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        at = at->next;
        if (s->owner == tc) {
            close_sock(s);
        }
    }
    pli_list_remove(&tc->busy);
    pli_log(PLI_INFO, "lost the connection to rank %u: %s", tc->conn->proc, why);
}

static bool has_other(const struct pli_tcp_sock *s)
{
    const struct pli_list *socks = &s->owner->net->socks;
    for (const struct pli_list *at = socks->next; at != socks; at = at->next) {
        const struct pli_tcp_sock *other = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        if (other != s && other->owner == s->owner) {
            return true;
        }
    }
    return false;
}

void pli_tcp_connect_closed(struct pli_tcp_sock *s, const char *why)
{
    struct pli_tcp_conn *tc = s->owner;
    if (s->left == 0 && s->n_head == 0 && has_other(s)) {
        close_sock(s); // what it sent last may come over the other one
        return;
    }
    if (tc->ucx != NULL) {
        tc->net->bypass->finish(tc);
    }
    bool is_clean = tc->has_left && s->left == 0 && s->n_head == 0;
    bool is_last = tc->state == PLI_TCP_CONN_UP;
    if (!is_clean || (is_last && !pli_tcp_conn_forget(tc))) {
        tc->may_reconnect = s->left == 0 && s->n_head == 0;
        pli_tcp_connect_lose(tc, is_clean      ? "it has left MPI"
                                 : why != NULL ? why
                                               : "it closed the connection");
        return;
    }
    close_sock(s);
    if (is_last) {
        pli_list_remove(&tc->busy);
        tc->is_gone = true;
        go(tc, PLI_TCP_CONN_IDLE);
    }
}

void pli_tcp_connect_left(struct pli_tcp_conn *tc)
{
    if (tc->state != PLI_TCP_CONN_LOST || !pli_tcp_conn_forget(tc)) {
        return;
    }
    tc->has_left = true;
    tc->is_gone = true;
    go(tc, PLI_TCP_CONN_IDLE);
}

// A connection stands: it is read from now on, and written if the connection has no other. The keys
// protect it where PLIANT_NET_PROTECT asks for that.
static void take(struct pli_tcp_conn *tc, int fd, const unsigned char keys[2][32])
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
        pli_tcp_connect_lose(tc, why);
        return;
    }
    s->watch = (struct pli_fd_watch){ .fd = fd, .ready = pli_tcp_recv_ready, .net = tc->net };
    s->owner = tc;
    pli_list_push(&tc->net->socks, &s->at);
    tc->net->n_sock++;
    if (!pli_tcp_lane_watch(tc->net, &s->watch, EPOLLIN)) {
        pli_tcp_connect_lose(tc, "the connection cannot be watched");
        return;
    }
    bool is_second = tc->out != NULL;
    if (!is_second && tc->state != PLI_TCP_CONN_LOST) {
        tc->out = s;
        tc->is_write_closed = false;
    }
    if (tc->state != PLI_TCP_CONN_UP) {
        go(tc, PLI_TCP_CONN_UP);
    }
    if (is_second && tc->old == NULL && pli_proc.boot->index < tc->conn->proc) {
        tc->old = s;
        pli_tcp_conn_note(tc, PLI_MSG_MERGE, 0, 0, 0);
    }
    pli_tcp_conn_push(tc);
}

// A dial is about to close its descriptor.
static void unwatch_dial(void *arg)
{
    struct pli_tcp_conn *tc = arg;
    pli_tcp_lane_unwatch(tc->net, &tc->dial_watch);
    tc->dial_watch.fd = -1;
}

static void watch_dial(struct pli_tcp_conn *tc)
{
    tc->dial_watch.fd = pli_dial_fd(tc->dial);
    if (tc->dial_watch.fd >= 0 &&
        !pli_tcp_lane_watch(tc->net, &tc->dial_watch, pli_dial_events(tc->dial))) {
        pli_tcp_connect_lose(tc, "the connection cannot be watched");
    }
}

static void step_dial(struct pli_tcp_conn *tc)
{
    enum pli_err err = pli_dial_step(tc->dial);
    if (err == PLI_OK) {
        pli_tcp_lane_unwatch(tc->net, &tc->dial_watch);
        unsigned char keys[2][32];
        pli_dial_keys(tc->dial, keys);
        int fd = pli_dial_take(tc->dial);
        close_dial(tc);
        take(tc, fd, keys);
        explicit_bzero(keys, sizeof keys);
        return;
    }
    if (err != PLI_AGAIN) {
        pli_tcp_connect_lose(tc, pli_fail_take(NULL));
        return;
    }
    watch_dial(tc);
}

static void dial_ready(struct pli_fd_watch *e, uint32_t events)
{
    (void)events;
    struct pli_tcp_conn *tc = PLI_CONTAINER(e, struct pli_tcp_conn, dial_watch);
    if (tc->dial != NULL) {
        step_dial(tc);
    }
}

void pli_tcp_connect_dial(struct pli_tcp_conn *tc)
{
    struct pli_boot *boot = pli_proc.boot;
    struct pli_boot_way way = { 0 };
    enum pli_err err = boot->ops->reach(boot, tc->conn->proc, &way);
    struct pli_dial_call call = {
        .secret = boot->node.header->secret,
        .here = &boot->node.hosts[boot->host],
        .there = way.host,
        .moving = pli_node_moving(boot->node.header),
        .host = way.host != NULL ? (uint32_t)(way.host - boot->node.hosts) : 0,
        .port = way.port,
        .is_slow = way.is_direct,
        .from = boot->index,
        .to = tc->conn->proc,
        .lane = (uint8_t)tc->net->base.lane->index,
        .to_lane = tc->conn->peer_lane,
        .timeout_ns = (uint64_t)DIAL_TIMEOUT_S * 1000000000u,
        .unwatch = unwatch_dial,
        .arg = tc,
    };
    tc->dial_watch = (struct pli_fd_watch){ .fd = -1, .ready = dial_ready, .net = tc->net };
    if (err != PLI_OK || pli_dial_open(&call, &tc->dial) != PLI_OK) {
        pli_tcp_connect_lose(tc, pli_fail_take(NULL));
        return;
    }
    go(tc, PLI_TCP_CONN_DIALING);
    watch_dial(tc);
}

void pli_tcp_connect_accept(struct pli_tcp_lane *net, const struct pli_caller *c)
{
    uint64_t proc = pli_node_job_of(net->base.lane->proc) | c->proc;
    struct pli_conn *conn = pli_lane_conn(net->base.lane, (struct pli_id){ proc, c->lane });
    struct pli_tcp_conn *tc = conn != NULL ? conn->net : NULL;
    // A process that connected, wrote its last frames to that connection and ended may have closed
    // the other before this one comes from the launcher. It is read, and not written.
    bool is_late = tc != NULL && tc->state == PLI_TCP_CONN_LOST && tc->may_reconnect;
    if (tc == NULL || (tc->state >= PLI_TCP_CONN_LOST && !is_late)) {
        pli_dial_end(c->fd);
        return;
    }
    if (c->protect != pli_secure_level()) {
        pli_dial_end(c->fd);
        pli_tcp_connect_lose(
            tc, "it has another PLIANT_NET_PROTECT than this process; all ranks need the "
                "same");
        return;
    }
    if (tc->state == PLI_TCP_CONN_DIALING) {
        close_dial(tc); // it has carried nothing yet
    }
    tc->has_left = false;
    take(tc, c->fd, c->keys);
}

// A request of a connection that is gone.
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
static void fail_posted(struct pli_tcp_conn *tc)
{
    struct pli_lane *lane = tc->net->base.lane;
    for (uint32_t c = 0; c < lane->n_chunk; c++) {
        for (uint32_t k = 0; lane->eps[c] != NULL && k < PLI_LANE_CHUNK; k++) {
            struct pli_endpoint *ep = lane->eps[c][k];
            struct pli_match_item *i;
            while (ep != NULL && (i = pli_match_scan(&ep->match, is_from, tc->conn)) != NULL) {
                struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
                pli_match_unpost(&ep->match, i);
                r->state &= (uint16_t)~PLI_REQ_POSTED;
                r->source = i->source;
                r->tag = i->tag;
                pli_request_complete(r, tc->fate);
            }
        }
    }
}

static void abandon(struct pli_tcp_conn *tc)
{
    struct pli_boot *boot = pli_proc.boot;
    const struct pli_node_proc *p = pli_node_find(&boot->node, tc->conn->proc);
    pli_log(tc->died_ns != 0 ? PLI_INFO : PLI_WARN, "rank %u on host %s is lost: %s",
            tc->conn->proc, p != NULL ? boot->node.hosts[p->host].name : "?", tc->why);
    tc->fate = tc->died_ns != 0 ? PLI_ERR_PROC_FAILED : PLI_ERR_PROC_ABORTED;
    tc->net->n_dying -= tc->died_ns != 0;
    tc->conn->is_dead = true;
    go(tc, PLI_TCP_CONN_DEAD);
    tc->net->base.lane->n_dead++;
    struct pli_request *writing =
        tc->req != NULL && tc->head.kind == PLI_MSG_EAGER ? tc->req : NULL;
    tc->req = NULL;
    tc->head_left = 0;
    tc->body_left = 0;
    free(tc->bounce);
    tc->bounce = NULL;
    if (tc->ucx != NULL) {
        tc->net->bypass->abandon(tc);
    }
    while (!pli_list_is_empty(&tc->streams)) {
        pli_list_remove(tc->streams.next); // their ids are in use
    }
    while (!pli_list_is_empty(&tc->notes)) {
        struct pli_list *n = tc->notes.next;
        pli_list_remove(n);
        free(n);
    }
    enum pli_reqid_kind kind;
    struct pli_request *r;
    while ((r = pli_reqid_reclaim(&tc->net->reqids, tc->conn, &kind)) != NULL) {
        fail(r, tc->fate);
    }
    if (writing != NULL) {
        fail(writing, tc->fate);
    }
    while (!pli_list_is_empty(&tc->pending)) {
        r = PLI_CONTAINER(tc->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        fail(r, tc->fate);
    }
    fail_posted(tc);
}

// Its process died: read all that it had sent.
static void drain(struct pli_tcp_conn *tc)
{
    struct pli_list *at = tc->net->socks.next;
    while (at != &tc->net->socks && tc->state == PLI_TCP_CONN_UP) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        at = at->next;
        if (s->owner == tc && pli_tcp_recv_read(s) > 0) {
            at = tc->net->socks.next; // there may be more, and others may be gone
        }
    }
    bool is_over = (tc->state == PLI_TCP_CONN_LOST || tc->is_gone) &&
                   (tc->ucx == NULL || tc->net->bypass->is_finished(tc));
    if (!is_over && pli_clock_ns() - tc->died_ns > DRAIN_NS) {
        is_over = true;
    }
    if (is_over) {
        pli_tcp_connect_lose(tc, "it died");
        abandon(tc);
    }
}

// Data that is not acknowledged although it was sent again and again: the host cannot be reached
// any more. One that merely does not take more is not meant: it answers. TCP_USER_TIMEOUT would not
// tell the two apart.
static void check_acks(struct pli_tcp_conn *tc)
{
    struct tcp_info info;
    socklen_t len = sizeof info;
    if (tc->out == NULL || getsockopt(tc->out->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) {
        return;
    }
    if (info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 &&
        info.tcpi_last_ack_recv > (uint32_t)pli_conf.tcp_timeout * 1000) {
        char why[80];
        snprintf(why, sizeof why, "its host has not answered for %u s",
                 info.tcpi_last_ack_recv / 1000);
        pli_tcp_connect_lose(tc, why);
    }
}

void pli_tcp_connect_check(struct pli_tcp_lane *net)
{
    uint64_t now = pli_clock_ns();
    bool is_time = now - net->checked_ns > CHECK_NS;
    uint64_t grace =
        (uint64_t)(pli_request_may_be_withdrawn ? GRACE_MORTAL_S : GRACE_S) * 1000000000u;
    net->checked_ns = is_time ? now : net->checked_ns;
    net->is_scanned = true;
    struct pli_list *at = net->conns.next;
    while (at != &net->conns) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        at = at->next;
        if (tc->state == PLI_TCP_CONN_DIALING && (is_time || now > pli_dial_until(tc->dial))) {
            step_dial(tc);
        } else if (tc->state != PLI_TCP_CONN_DEAD && tc->died_ns != 0) {
            drain(tc);
        } else if (tc->state == PLI_TCP_CONN_LOST && now - tc->lost_ns > grace) {
            abandon(tc);
        } else if (tc->state == PLI_TCP_CONN_UP && is_time && tc->is_unacked) {
            check_acks(tc);
        }
        if (tc->ucx != NULL && tc->state == PLI_TCP_CONN_UP) {
            net->bypass->check(tc, now);
        }
    }
    net->is_scanned = false;
}

// The user may change the buffer from now on: keep what is still to be written of it.
static void copy_unwritten(struct pli_tcp_conn *tc)
{
    if (tc->body_left > 0 && tc->bounce == NULL) {
        tc->bounce = malloc(tc->body_left);
        if (tc->bounce == NULL) {
            tc->req = NULL;
            pli_tcp_connect_lose(tc, "there is no memory for a message that was begun");
            return;
        }
        memcpy(tc->bounce, tc->body, tc->body_left);
        tc->body = tc->bounce;
    }
    tc->req = NULL;
}

// What comes of it is read, and goes nowhere.
static void discard_data(struct pli_tcp_conn *tc, const struct pli_request *r)
{
    for (struct pli_list *at = tc->net->socks.next; at != &tc->net->socks; at = at->next) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        if (s->recv == r) {
            s->recv = NULL;
            s->to = s->unexpected != NULL ? s->to : NULL;
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

static void withdraw(struct pli_tcp_conn *tc, struct pli_request *r, enum pli_err err)
{
    if (tc->req == r) {
        copy_unwritten(tc);
    }
    if ((r->flags & PLI_REQ_SEND) != 0) {
        unlist(&tc->pending, r);
        unlist(&tc->streams, r);
        if (tc->net->ucx != NULL) {
            tc->net->bypass->unqueue(tc, r);
        }
    } else {
        discard_data(tc, r);
    }
    pli_rndv_drop_cursor(r);
    pli_request_complete(r, err);
}

static enum pli_err error_of(const struct pli_tcp_conn *tc, const struct pli_request *r)
{
    int peer = (r->flags & PLI_REQ_SEND) != 0 ? r->source : r->item.source;
    return pli_failure_hooks->judge(tc->net->base.lane, r, peer);
}

static void fail_open(struct pli_tcp_conn *tc)
{
    struct pli_reqid_table *t = &tc->net->reqids;
    for (uint32_t i = 0; i < t->n; i++) {
        enum pli_reqid_kind kind;
        struct pli_request *r = pli_reqid_at(t, i, tc->conn, &kind);
        enum pli_err err = r != NULL ? error_of(tc, r) : PLI_OK;
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
        if (tc->ucx != NULL && tc->net->bypass->is_in_use(tc, r)) {
            continue;
        }
        tc->n_asked -= kind == PLI_REQID_RECV;
        pli_reqid_withdraw(t, i);
        withdraw(tc, r, err);
    }
}

// Messages whose receive is known and whose data is coming unasked.
static void fail_coming(struct pli_tcp_conn *tc)
{
    for (struct pli_list *at = tc->net->socks.next; at != &tc->net->socks; at = at->next) {
        const struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        struct pli_request *r = s->owner == tc && s->left > 0 ? s->recv : NULL;
        enum pli_err err = r != NULL && s->frame.kind != PLI_MSG_DATA ? error_of(tc, r) : PLI_OK;
        if (err != PLI_OK && err != PLI_ERR_WORLD_RESIZED) {
            withdraw(tc, r, err);
        }
    }
}

static void fail_unsent(struct pli_tcp_conn *tc)
{
    struct pli_list *at = tc->pending.next;
    while (at != &tc->pending) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        enum pli_err err = error_of(tc, r);
        at = at->next;
        if (err != PLI_OK) {
            withdraw(tc, r, err);
        }
    }
    // Of what is being written unasked no id is in use. After a resize it is completed.
    struct pli_request *r = tc->head.kind == PLI_MSG_EAGER ? tc->req : NULL;
    enum pli_err err = r != NULL ? error_of(tc, r) : PLI_OK;
    if (err != PLI_OK && err != PLI_ERR_WORLD_RESIZED) {
        withdraw(tc, r, err);
    }
}

void pli_tcp_connect_fail(struct pli_tcp_conn *tc, bool has_died)
{
    if (tc->state == PLI_TCP_CONN_DEAD) {
        return;
    }
    if (!has_died) {
        fail_unsent(tc);
        fail_coming(tc);
        fail_open(tc);
        return;
    }
    if (tc->died_ns == 0) {
        tc->died_ns = pli_clock_ns();
        tc->net->n_dying++;
    }
    drain(tc);
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
        pli_tcp_lane_unwatch(s->owner->net, &s->watch); // what it is now has copies in other places
        found = dup3(now, s->watch.fd, O_CLOEXEC) >= 0 ? FOUND : FAILED;
        pli_fault_hold("tcp_resume", pli_boot.index);
        close(now);
    }
    pli_freeze_let();
    return found;
}

bool pli_tcp_connect_resume(struct pli_tcp_sock *s)
{
    struct pli_tcp_conn *tc = s->owner;
    const char *kept = NULL;
    size_t len = 0, cap = 0;
    bool is_unwatched = s->watch.is_unwatched;
    enum found found = replace(s, &kept, &len, &cap);
    if (found == NOTHING) {
        return false;
    }
    if (pli_dial_tune(s->watch.fd, (int)pli_conf.tcp_timeout) != PLI_OK) {
        pli_fail_take(NULL); // what has ended for good is no connection
    }
    uint32_t events = s->deferred != NULL ? 0 : s->is_armed ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (found == FAILED || (!is_unwatched && !pli_tcp_lane_watch(tc->net, &s->watch, events))) {
        pli_tcp_connect_lose(tc, "the connection cannot be watched");
    } else {
        s->watch.is_unwatched = is_unwatched;
        tc->is_write_closed = s == tc->out ? false : tc->is_write_closed;
        pli_tcp_recv_feed(s, kept, len);
    }
    pli_sock_forget(kept, cap);
    pli_tcp_conn_push(tc);
    return true;
}
