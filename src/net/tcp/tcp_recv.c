// SPDX-License-Identifier: BSD-3-Clause
// Reading from a link. One read takes the heads and small messages of many frames into the lane's
// room. Where a body is longer than what has come, its rest is read straight to where it belongs:
// the user's buffer, if a receive is known and has no holes.
#include "net/tcp/tcp_recv.h"

#include "base/log.h"
#include "msg/deliver.h"
#include "msg/endpoint.h"
#include "net/tcp/frame.h"
#include "msg/unexpected.h"
#include "msg/request.h"
#include "msg/msg_wire.h"
#include "msg/rndv.h"
#include "net/tcp/secure.h"
#include "net/tcp/tcp_bypass.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_connect.h"
#include "net/tcp/tcp_lane.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    READS = 8,          // in a row from one connection, so that others get their turn
    BESIDE_LARGE = 4096 // bytes
};

// The other side says what it must not: it is not to be trusted with anything more.
bool pli_tcp_recv_refuse(struct pli_tcp_conn *l, const char *what)
{
    char why[120];
    snprintf(why, sizeof why, "it sent nonsense (%s)", what);
    pli_tcp_connect_lose(l, why);
    return false;
}

static void set_matched(struct pli_request *recv, const struct pli_frame *f)
{
    recv->state &= (uint16_t)~PLI_REQ_POSTED;
    recv->source = f->src_rank;
    recv->tag = f->tag;
}

static struct pli_unexpected *make_parcel(struct pli_tcp_conn *l, struct pli_endpoint *ep,
                                          const struct pli_frame *f)
{
    bool has_data = f->kind != PLI_MSG_RTS;
    struct pli_unexpected *p = pli_unexpected_create(ep, has_data ? f->len : 0);
    p->item.context = f->context;
    p->item.source = f->src_rank;
    p->item.tag = f->tag;
    p->conn = l->conn;
    p->size = f->size;
    p->kind = f->kind;
    p->form = f->flags;
    p->remote = f->ticket;
    if (has_data) {
        pli_unexpected_hold(ep->lane, f->len + sizeof *p);
    }
    return p;
}

static struct pli_request *match(struct pli_endpoint *ep, const struct pli_frame *f)
{
    struct pli_match_item *item = pli_match_arrive(&ep->match, f->context, f->src_rank, f->tag);
    if (item == NULL) {
        return NULL;
    }
    struct pli_request *recv = PLI_CONTAINER(item, struct pli_request, item);
    set_matched(recv, f);
    return recv;
}

static void acknowledge(struct pli_tcp_conn *l, const struct pli_frame *f)
{
    if (f->kind == PLI_MSG_SYNC) {
        pli_lane_note(l->conn, PLI_MSG_ACK, f->ticket, 0, 0);
    }
}

void pli_tcp_recv_arrive(struct pli_tcp_conn *l, const struct pli_frame *f, const char *body)
{
    struct pli_lane *lane = l->net->base.lane;
    struct pli_endpoint *ep = pli_lane_ep(lane, f->dst_ep);
    if (ep == NULL) {
        pli_log(PLI_DEBUG, "dropped a message for endpoint %u, which is gone", f->dst_ep);
        return;
    }
    struct pli_request *recv = match(ep, f);
    if (recv == NULL) {
        struct pli_unexpected *p = make_parcel(l, ep, f);
        memcpy(p->data, body, f->len);
        pli_unexpected_keep(p);
    } else if (f->kind == PLI_MSG_RTS) {
        pli_deliver_offer(recv, l->conn, f->ticket, f->size, 0, 0, f->flags);
    } else {
        acknowledge(l, f);
        pli_deliver_take(recv, body, f->size, f->flags);
    }
}

// A message of which more is to come: decide where it goes.
static void expect(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    struct pli_endpoint *ep = pli_lane_ep(s->link->net->base.lane, f->dst_ep);
    s->to = NULL;
    s->recv = NULL;
    s->parcel = NULL;
    if (ep == NULL) {
        return;
    }
    s->recv = match(ep, f);
    if (s->recv != NULL) {
        acknowledge(s->link, f);
    }
    if (s->recv != NULL && s->recv->type->is_dense && f->size <= s->recv->size &&
        pli_deliver_fits(s->recv, f->flags)) {
        s->to = (char *)s->recv->buf + s->recv->type->true_lb;
        s->recv->bytes = f->size;
    } else {
        s->parcel = make_parcel(s->link, ep, f);
        s->to = (char *)s->parcel->data;
    }
}

// A receive may have come while the message did.
static void keep_or_deliver(struct pli_tcp_sock *s, struct pli_unexpected *p)
{
    const struct pli_frame *f = &s->frame;
    struct pli_request *recv = s->recv;
    if (recv == NULL) {
        recv = match(p->ep, f);
        if (recv == NULL) {
            pli_unexpected_keep(p);
            return;
        }
        acknowledge(s->link, f);
    }
    pli_deliver_take(recv, p->data, p->size, p->form);
    pli_unexpected_destroy(p);
}

// A piece of a large message is to come. False: nobody asked for it.
static bool expect_piece(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    struct pli_tcp_conn *l = s->link;
    struct pli_request *recv = pli_reqid_find(&l->net->reqids, f->word[0], l->conn, PLI_REQID_RECV);
    s->recv = recv;
    s->parcel = NULL;
    s->to = NULL;
    if (pli_reqid_is_ghost(&l->net->reqids, f->word[0], l->conn)) {
        return true; // it is read, and goes nowhere
    }
    uint64_t want = recv == NULL ? 0 : recv->bytes < recv->size ? recv->bytes : recv->size;
    if (recv == NULL || f->word[1] != recv->moved || f->len > want - recv->moved) {
        return pli_tcp_recv_refuse(s->link, "data nobody asked for");
    }
    s->to = recv->cursor != NULL ? NULL : (char *)recv->buf + recv->type->true_lb + recv->moved;
    return true;
}

static void end_piece(struct pli_tcp_sock *s)
{
    struct pli_request *recv = s->recv;
    if (recv == NULL) {
        return; // it was withdrawn
    }
    uint64_t want = recv->bytes < recv->size ? recv->bytes : recv->size;
    recv->moved += s->frame.len;
    if (recv->moved == want) {
        s->link->n_asked--;
        pli_reqid_end(&s->link->net->reqids, s->frame.word[0]);
        pli_rndv_end_receive(recv);
    }
}

// The address of a worker is to come. False: no memory, and the link is lost.
static bool expect_worker(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    s->recv = NULL;
    s->parcel = NULL;
    s->worker = malloc(f->len);
    s->to = s->worker;
    if (s->worker == NULL) {
        s->left = 0;
        pli_tcp_connect_lose(s->link, "there is no memory for what it sent");
    }
    return s->worker != NULL;
}

// The address of the other side's worker came. One that has no worker says so in its answer.
static void hear_address(struct pli_tcp_conn *l, const struct pli_frame *f, const char *address)
{
    if (l->ucx != NULL) {
        l->net->bypass->connect(l, f, address);
    } else {
        pli_tcp_conn_note(l, PLI_MSG_WORKER, 0, 0, 0);
    }
}

static void end_worker(struct pli_tcp_sock *s)
{
    char *worker = s->worker;
    s->worker = NULL;
    hear_address(s->link, &s->frame, worker);
    free(worker);
}

// All bytes behind the head are here.
static void end_body(struct pli_tcp_sock *s)
{
    if (s->frame.kind == PLI_MSG_WORKER) {
        end_worker(s);
    } else if (s->frame.kind == PLI_MSG_DATA) {
        end_piece(s);
    } else if (s->parcel != NULL) {
        keep_or_deliver(s, s->parcel);
    } else if (s->recv != NULL) {
        pli_request_complete(s->recv, PLI_OK);
    }
    s->recv = NULL;
    s->parcel = NULL;
    s->to = NULL;
}

// Who died will be known: until then the receive waits, as one that has asked for the data.
static bool is_put_off(const struct pli_tcp_sock *s)
{
    struct pli_tcp_conn *l = s->link;
    l->n_asked++;
    return pli_reqid_give(&l->net->reqids, s->recv, l->conn, PLI_REQID_RECV) != 0;
}

void pli_tcp_recv_drop(struct pli_tcp_sock *s)
{
    free(s->rest);
    s->rest = NULL;
    s->n_rest = 0;
    free(s->worker);
    s->worker = NULL;
    pli_secure_destroy(s->secure);
    s->secure = NULL;
    if (s->left == 0) {
        return;
    }
    s->left = 0;
    if (s->recv != NULL && s->frame.kind != PLI_MSG_DATA && // else its ticket is still out
        !(pli_request_is_mortal && is_put_off(s))) {
        pli_request_complete(s->recv, PLI_ERR_PROC_ABORTED);
    }
    pli_unexpected_destroy(s->parcel);
    s->recv = NULL;
    s->parcel = NULL;
}

// Bytes behind the head that came into the lane's room.
static size_t fill(struct pli_tcp_sock *s, const char *from, size_t n)
{
    n = n < s->left ? n : (size_t)s->left;
    if (s->to != NULL) {
        memcpy(s->to, from, n);
        s->to += n;
    } else if (s->recv != NULL) {
        pli_cursor_unpack(s->recv->cursor, from, n);
    }
    s->left -= n;
    if (s->left == 0) {
        end_body(s);
    }
    return n;
}

// A ticket of mine that comes back must be one that is out.
static bool hear_answer(struct pli_tcp_conn *l, const struct pli_frame *f)
{
    struct pli_reqid_table *t = &l->net->reqids;
    struct pli_request *send = pli_reqid_find(t, f->word[0], l->conn, PLI_REQID_SEND);
    if (send == NULL) {
        return pli_reqid_is_ghost(t, f->word[0], l->conn) ||
               pli_tcp_recv_refuse(l, "an answer to nothing");
    }
    switch (f->kind) {
    case PLI_MSG_CTS:
    case PLI_MSG_CTS_PIECES:
        if (f->word[2] > send->size || (send->state & (PLI_REQ_MATCHED | PLI_REQ_ASKED)) != 0) {
            return pli_tcp_recv_refuse(l, "a request for more than was offered");
        }
        send->state |= PLI_REQ_ASKED;
        pli_tcp_conn_stream(l, send, f->word[1], f->word[2], f->kind == PLI_MSG_CTS_PIECES);
        break;
    case PLI_MSG_ACK:
        if ((send->state & PLI_REQ_CANCELLING) == 0) {
            pli_reqid_end(t, f->word[0]);
        }
        pli_rndv_end_send(send);
        break;
    default: // PLI_MSG_UNSENT
        if (f->word[1] != 0 || (send->state & PLI_REQ_MATCHED) != 0) {
            pli_reqid_end(t, f->word[0]);
        }
        pli_rndv_unsent(send, f->word[1] != 0);
        break;
    }
    return true;
}

bool pli_tcp_recv_note(struct pli_tcp_conn *l, const struct pli_frame *f)
{
    switch (f->kind) {
    case PLI_MSG_UNSEND:
        pli_rndv_forget(l->net->base.lane, l->conn, f->word[0], (uint32_t)f->word[1]);
        return true;
    case PLI_MSG_HOLD:
        l->is_full = f->word[0] != 0;
        return true;
    default:
        return hear_answer(l, f);
    }
}

// The other side leaves UCX. A process without UCX has nothing to leave.
static bool hear_closing(struct pli_tcp_conn *l, const struct pli_frame *f)
{
    if (l->ucx != NULL) {
        return l->net->bypass->closing(l, f);
    }
    if (f->kind == PLI_MSG_AWAY) {
        pli_tcp_conn_note(l, PLI_MSG_AWAY, 0, 0, 0);
        pli_tcp_conn_note(l, PLI_MSG_OVER, 0, 0, 0);
    }
    return true;
}

// What is about the connection itself.
static bool hear_note(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    struct pli_tcp_conn *l = s->link;
    switch (f->kind) {
    case PLI_MSG_MERGE:
        if (s == l->out || l->out == NULL || l->next != NULL ||
            l->conn->proc > (uint32_t)l->net->base.lane->proc) {
            return pli_tcp_recv_refuse(l, "a merge of nothing");
        }
        l->next = s;
        pli_tcp_conn_push(l);
        return true;
    case PLI_MSG_MOVE:
        if (s != l->old) {
            return pli_tcp_recv_refuse(l, "a move to nowhere");
        }
        pli_tcp_connect_moved(s);
        return true;
    case PLI_MSG_BYE:
        l->has_left = l->ucx == NULL || l->net->bypass->hear_bye(l, f->word[0]);
        return true;
    case PLI_MSG_AWAY:
    case PLI_MSG_OVER:
    case PLI_MSG_MET:
        return hear_closing(l, f);
    default:
        return pli_tcp_recv_note(l, f);
    }
}

// A complete head, and n bytes of what follows it. False: the link is lost.
static bool hear(struct pli_tcp_sock *s, const struct pli_frame *f, const char *body, size_t n)
{
    const char *wrong = pli_frame_check(f);
    if (wrong != NULL) {
        return pli_tcp_recv_refuse(s->link, wrong);
    }
    s->link->has_left = s->link->has_left && f->kind >= PLI_MSG_AWAY; // these say nothing new
    if (f->kind == PLI_MSG_WORKER && f->len <= n) {
        hear_address(s->link, f, body);
        return true;
    }
    if (f->kind > PLI_MSG_RTS && f->kind != PLI_MSG_DATA && f->kind != PLI_MSG_WORKER) {
        return hear_note(s, f);
    }
    if (f->kind <= PLI_MSG_RTS && f->len <= n) {
        pli_tcp_recv_arrive(s->link, f, body);
        return true;
    }
    s->frame = *f;
    s->left = f->len;
    if (f->kind == PLI_MSG_DATA) {
        bool is_good = expect_piece(s, f);
        s->left = is_good ? s->left : 0;
        return is_good;
    }
    if (f->kind == PLI_MSG_WORKER) {
        return expect_worker(s, f);
    }
    expect(s, f);
    return true;
}

// What the other side wrote here it wrote after all that comes over its old connection, or by UCX.
static bool is_early(const struct pli_tcp_sock *s)
{
    const struct pli_tcp_conn *l = s->link;
    return (l->old != NULL && s == l->out) || (l->ucx != NULL && l->net->bypass->is_behind(l));
}

// False: no memory, and the link is lost.
static bool put_off(struct pli_tcp_sock *s, const char *at, size_t n)
{
    s->rest = malloc(n);
    if (s->rest == NULL) {
        pli_tcp_connect_lose(s->link, "there is no memory for what it sent");
        return false;
    }
    memcpy(s->rest, at, n);
    s->n_rest = n;
    pli_tcp_lane_watch(s->watch.net, &s->watch, 0);
    return true;
}

// Take apart what came into the room. False: the link is lost.
static bool take_apart(struct pli_tcp_sock *s, const char *at, size_t n)
{
    while (n > 0) {
        if (s->left > 0) {
            size_t used = fill(s, at, n);
            at += used;
            n -= used;
            continue;
        }
        if (n < sizeof(struct pli_frame)) {
            memcpy(&s->frame, at, n);
            s->n_head = (uint32_t)n;
            return true;
        }
        if (is_early(s)) {
            return put_off(s, at, n);
        }
        struct pli_frame f;
        memcpy(&f, at, sizeof f);
        at += sizeof f;
        n -= sizeof f;
        if (!hear(s, &f, at, n) || s->watch.fd < 0) {
            return false;
        }
        if (s->left == 0) { // all of it was here
            at += f.len;
            n -= f.len;
        }
    }
    return true;
}

void pli_tcp_recv_resume(struct pli_tcp_sock *s)
{
    char *rest = s->rest;
    size_t n = s->n_rest;
    if (rest == NULL) {
        return;
    }
    s->rest = NULL;
    s->n_rest = 0;
    s->is_armed = false;
    pli_tcp_lane_watch(s->watch.net, &s->watch, EPOLLIN);
    bool is_up = take_apart(s, rest, n);
    free(rest);
    if (is_up && pli_secure_has_more(s->secure)) {
        pli_tcp_recv_read(s);
    }
}

void pli_tcp_recv_catch_up(struct pli_tcp_conn *l)
{
    struct pli_list *at = l->net->socks.next;
    while (at != &l->net->socks) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        at = at->next;
        if (s->link == l && s->rest != NULL && !is_early(s)) {
            pli_tcp_recv_resume(s);
            at = l->net->socks.next; // others may be gone
        }
    }
}

void pli_tcp_recv_feed(struct pli_tcp_sock *s, const char *data, size_t n)
{
    size_t head = s->n_head;
    if (n == 0 || (s->secure != NULL && pli_secure_feed(s->secure, data, n))) {
        return;
    }
    char *all = s->secure == NULL ? malloc(head + n) : NULL;
    if (all == NULL) {
        pli_tcp_connect_lose(s->link, "there is no memory for what it sent");
        return;
    }
    memcpy(all, &s->frame, head);
    memcpy(all + head, data, n);
    s->n_head = 0;
    take_apart(s, all, head + n);
    free(all);
}

// One read. How many bytes, 0: nothing there, or the link is lost.
static size_t read_once(struct pli_tcp_sock *s, bool *is_more_out)
{
    char *room = s->link->net->room;
    struct iovec iov[2];
    int n_iov = 0;
    size_t direct = s->left > 0 && s->to != NULL ? (size_t)s->left : 0, head = s->n_head;
    if (direct > 0) {
        iov[n_iov++] = (struct iovec){ s->to, direct };
    }
    // What is read with the head of large data is copied twice: let it be little. bench: tcp_bw.
    size_t most = s->link->n_asked > 0 ? BESIDE_LARGE : PLI_TCP_RECV_ROOM;
    memcpy(room, &s->frame, head);
    iov[n_iov++] = (struct iovec){ room + head, most - head };
    struct msghdr mh = { .msg_iov = iov, .msg_iovlen = (size_t)n_iov };
    ssize_t n = s->secure != NULL ? pli_secure_receive(s->secure, s->watch.fd, iov, n_iov)
                : n_iov == 1      ? recv(s->watch.fd, iov[0].iov_base, iov[0].iov_len, MSG_DONTWAIT)
                                  : recvmsg(s->watch.fd, &mh, MSG_DONTWAIT);
    *is_more_out = false;
    if (n <= 0) {
        if (n < 0 && errno == ENOTSOCK && pli_tcp_connect_resume(s)) {
            *is_more_out = true;
            return 1;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            bool is_silent = errno == ETIMEDOUT || errno == EHOSTUNREACH; // keepalive found out
            pli_tcp_connect_closed(
                s, n == 0             ? NULL
                   : is_silent        ? "its host does not answer"
                   : errno == EBADMSG ? "what came from it is not what it sent; somebody on the "
                                        "network has altered it"
                                      : strerror(errno));
        }
        return 0;
    }
    size_t got = (size_t)n, total = got;
    size_t asked = direct + most - head;
    if (direct > 0) {
        size_t there = got < direct ? got : direct;
        s->to += there;
        s->left -= there;
        got -= there;
        if (s->left == 0) {
            end_body(s);
        }
    }
    s->n_head = 0;
    bool is_up = got == 0 || take_apart(s, room, head + got);
    *is_more_out = is_up && (total == asked || s->left > 0);
    return total;
}

int pli_tcp_recv_read(struct pli_tcp_sock *s)
{
    int n = 0;
    bool is_more = true;
    // What was decrypted already, no descriptor tells of.
    while (((is_more && n < READS) || pli_secure_has_more(s->secure)) && s->watch.fd >= 0 &&
           s->rest == NULL && read_once(s, &is_more) > 0) {
        n++;
    }
    return n;
}

void pli_tcp_recv_ready(struct pli_fd_watch *e, uint32_t events)
{
    struct pli_tcp_sock *s = (struct pli_tcp_sock *)e;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && pli_tcp_recv_read(s) > 0 && e->fd >= 0) {
        if (!s->link->by_ucx) {
            pli_tcp_lane_set_active(e->net, s);
        }
        e->net->every = 1;
    }
    if ((events & EPOLLOUT) != 0 && e->fd >= 0) {
        pli_tcp_conn_push(s->link);
        if (e->fd >= 0 && s->is_armed && !pli_tcp_conn_has_unsent(s->link)) {
            s->is_armed = false;
            pli_tcp_lane_watch(e->net, e, EPOLLIN);
        }
    }
}
