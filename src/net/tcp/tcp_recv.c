// SPDX-License-Identifier: BSD-3-Clause
// Reads from sockets. One read takes the heads and small messages of many frames into the lane's
// buffer. Where a body is longer than what has come, its rest is read straight to where it belongs:
// the user's buffer, if a receive is known and has no holes.
#include "net/tcp/tcp_recv.h"

#include "base/log.h"
#include "ckpt/sock.h"
#include "msg/deliver.h"
#include "msg/endpoint.h"
#include "net/tcp/frame.h"
#include "msg/message_log.h"
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

// The other side has sent what it must not: nothing more is taken from it.
bool pli_tcp_recv_refuse(struct pli_tcp_conn *tc, const char *what)
{
    char why[120];
    snprintf(why, sizeof why, "it sent an invalid frame (%s)", what);
    pli_tcp_connect_lose(tc, why);
    return false;
}

static void set_matched(struct pli_request *recv, const struct pli_frame *f)
{
    recv->state &= (uint16_t)~PLI_REQ_POSTED;
    recv->source = f->src_rank;
    recv->tag = f->tag;
}

static struct pli_unexpected *make_unexpected(struct pli_tcp_conn *tc, struct pli_endpoint *ep,
                                              const struct pli_frame *f)
{
    bool has_data = f->kind != PLI_MSG_RTS;
    struct pli_unexpected *p = pli_unexpected_create(ep, has_data ? f->len : 0);
    p->item.context = f->context;
    p->item.source = f->src_rank;
    p->item.tag = f->tag;
    p->conn = tc->conn;
    p->size = f->size;
    p->kind = f->kind;
    p->form = f->flags;
    p->remote = f->reqid;
    if (has_data) {
        pli_unexpected_hold(ep->lane, f->len + sizeof *p);
    }
    return p;
}

static struct pli_request *match(const struct pli_tcp_conn *tc, struct pli_endpoint *ep,
                                 const struct pli_frame *f)
{
    struct pli_match_item *item = pli_match_arrive(&ep->match, f->context, f->src_rank, f->tag);
    if (item == NULL) {
        return NULL;
    }
    struct pli_request *recv = PLI_CONTAINER(item, struct pli_request, item);
    set_matched(recv, f);
    if (__builtin_expect(pli_message_log_is_on, 0)) {
        pli_message_log_match(recv, tc->conn, f->flags, 0);
    }
    return recv;
}

static void acknowledge(struct pli_tcp_conn *tc, const struct pli_frame *f)
{
    if (f->kind == PLI_MSG_SYNC) {
        pli_lane_note(tc->conn, PLI_MSG_ACK, f->reqid, 0, 0);
    }
}

void pli_tcp_recv_arrive(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *body)
{
    struct pli_lane *lane = tc->net->base.lane;
    struct pli_endpoint *ep = pli_lane_ep(lane, f->dst_ep);
    if (ep == NULL) {
        pli_log(PLI_DEBUG, "dropped a message for endpoint %u, which is gone", f->dst_ep);
        return;
    }
    struct pli_request *recv = match(tc, ep, f);
    if (recv == NULL) {
        struct pli_unexpected *p = make_unexpected(tc, ep, f);
        memcpy(p->data, body, f->len);
        pli_unexpected_keep(p);
    } else if (f->kind == PLI_MSG_RTS) {
        pli_deliver_offer(recv, tc->conn, f->reqid, f->size, 0, 0, f->flags);
    } else {
        acknowledge(tc, f);
        pli_deliver_take(recv, body, f->size, f->flags);
    }
}

// A message of which more is to come: decide where it goes.
static void expect(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    struct pli_endpoint *ep = pli_lane_ep(s->owner->net->base.lane, f->dst_ep);
    s->to = NULL;
    s->recv = NULL;
    s->unexpected = NULL;
    if (ep == NULL) {
        return;
    }
    s->recv = match(s->owner, ep, f);
    if (s->recv != NULL) {
        acknowledge(s->owner, f);
    }
    if (s->recv != NULL && s->recv->type->is_dense && f->size <= s->recv->size &&
        pli_deliver_fits(s->recv, f->flags)) {
        s->to = (char *)s->recv->buf + s->recv->type->true_lb;
        s->recv->bytes = f->size;
    } else {
        s->unexpected = make_unexpected(s->owner, ep, f);
        s->to = (char *)s->unexpected->data;
    }
}

// A receive may have come while the message did.
static void keep_or_deliver(struct pli_tcp_sock *s, struct pli_unexpected *p)
{
    const struct pli_frame *f = &s->frame;
    struct pli_request *recv = s->recv;
    if (recv == NULL) {
        recv = match(s->owner, p->ep, f);
        if (recv == NULL) {
            pli_unexpected_keep(p);
            return;
        }
        acknowledge(s->owner, f);
    }
    pli_deliver_take(recv, p->data, p->size, p->form);
    pli_unexpected_destroy(p);
}

// A piece of a large message is to come. False: no receive asked for it.
static bool expect_piece(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    struct pli_tcp_conn *tc = s->owner;
    struct pli_request *recv =
        pli_reqid_find(&tc->net->reqids, f->word[0], tc->conn, PLI_REQID_RECV);
    s->recv = recv;
    s->unexpected = NULL;
    s->to = NULL;
    if (pli_reqid_is_withdrawn(&tc->net->reqids, f->word[0], tc->conn)) {
        return true; // it is read, and goes nowhere
    }
    uint64_t want = recv == NULL ? 0 : recv->bytes < recv->size ? recv->bytes : recv->size;
    if (recv == NULL || f->word[1] != recv->moved || f->len > want - recv->moved) {
        return pli_tcp_recv_refuse(s->owner, "data that no receive asked for");
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
        s->owner->n_asked--;
        pli_reqid_end(&s->owner->net->reqids, s->frame.word[0]);
        pli_rndv_end_receive(recv);
    }
}

// The address of a worker is to come. False: no memory, and the connection is lost.
static bool expect_worker(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    s->recv = NULL;
    s->unexpected = NULL;
    s->worker = malloc(f->len);
    s->to = s->worker;
    if (s->worker == NULL) {
        s->left = 0;
        pli_tcp_connect_lose(s->owner, "there is no memory for what it sent");
    }
    return s->worker != NULL;
}

// The address of the other side's worker came. One that has no worker says so in its answer.
static void handle_address(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *address)
{
    if (tc->ucx != NULL) {
        tc->net->bypass->connect(tc, f, address);
    } else {
        pli_tcp_conn_note(tc, PLI_MSG_UCX_ADDRESS, 0, 0, 0);
    }
}

static void end_worker(struct pli_tcp_sock *s)
{
    char *worker = s->worker;
    s->worker = NULL;
    handle_address(s->owner, &s->frame, worker);
    free(worker);
}

// All bytes behind the head are here.
static void end_body(struct pli_tcp_sock *s)
{
    if (s->frame.kind == PLI_MSG_UCX_ADDRESS) {
        end_worker(s);
    } else if (s->frame.kind == PLI_MSG_DATA) {
        end_piece(s);
    } else if (s->unexpected != NULL) {
        keep_or_deliver(s, s->unexpected);
    } else if (s->recv != NULL) {
        pli_request_complete(s->recv, PLI_OK);
    }
    s->recv = NULL;
    s->unexpected = NULL;
    s->to = NULL;
}

// The launcher will say which process died: until then the receive waits, as one that has asked for
// the data.
static bool is_deferred(const struct pli_tcp_sock *s)
{
    struct pli_tcp_conn *tc = s->owner;
    tc->n_asked++;
    return pli_reqid_give(&tc->net->reqids, s->recv, tc->conn, PLI_REQID_RECV) != 0;
}

void pli_tcp_recv_drop(struct pli_tcp_sock *s)
{
    free(s->deferred);
    s->deferred = NULL;
    s->n_deferred = 0;
    free(s->worker);
    s->worker = NULL;
    pli_secure_destroy(s->secure);
    s->secure = NULL;
    if (s->left == 0) {
        return;
    }
    s->left = 0;
    if (s->recv != NULL && s->frame.kind != PLI_MSG_DATA && // else its id is still in use
        !(pli_request_may_be_withdrawn && is_deferred(s))) {
        pli_request_complete(s->recv, PLI_ERR_PROC_ABORTED);
    }
    pli_unexpected_destroy(s->unexpected);
    s->recv = NULL;
    s->unexpected = NULL;
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

// An id that comes back must be one that this side gave out.
static bool handle_answer(struct pli_tcp_conn *tc, const struct pli_frame *f)
{
    struct pli_reqid_table *t = &tc->net->reqids;
    struct pli_request *send = pli_reqid_find(t, f->word[0], tc->conn, PLI_REQID_SEND);
    if (send == NULL) {
        return pli_reqid_is_withdrawn(t, f->word[0], tc->conn) ||
               pli_tcp_recv_refuse(tc, "an answer without a request");
    }
    switch (f->kind) {
    case PLI_MSG_CTS:
    case PLI_MSG_CTS_PIECES:
        if (f->word[2] > send->size || (send->state & (PLI_REQ_MATCHED | PLI_REQ_ASKED)) != 0) {
            return pli_tcp_recv_refuse(tc, "a request for more than was offered");
        }
        send->state |= PLI_REQ_ASKED;
        pli_tcp_conn_stream(tc, send, f->word[1], f->word[2], f->kind == PLI_MSG_CTS_PIECES);
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

bool pli_tcp_recv_note(struct pli_tcp_conn *tc, const struct pli_frame *f)
{
    switch (f->kind) {
    case PLI_MSG_UNSEND:
        pli_rndv_forget(tc->net->base.lane, tc->conn, f->word[0], (uint32_t)f->word[1]);
        return true;
    case PLI_MSG_HOLD:
        tc->is_full = f->word[0] != 0;
        return true;
    default:
        return handle_answer(tc, f);
    }
}

// The other side leaves UCX. A process without UCX has nothing to leave.
static bool handle_closing(struct pli_tcp_conn *tc, const struct pli_frame *f)
{
    if (tc->ucx != NULL) {
        return tc->net->bypass->closing(tc, f);
    }
    if (f->kind == PLI_MSG_UCX_LEAVE) {
        pli_tcp_conn_note(tc, PLI_MSG_UCX_LEAVE, 0, 0, 0);
        pli_tcp_conn_note(tc, PLI_MSG_UCX_LEFT, 0, 0, 0);
    }
    return true;
}

// What is about the connection itself.
static bool handle_note(struct pli_tcp_sock *s, const struct pli_frame *f)
{
    struct pli_tcp_conn *tc = s->owner;
    switch (f->kind) {
    case PLI_MSG_MERGE:
        if (s == tc->out || tc->out == NULL || tc->next != NULL ||
            tc->conn->proc > (uint32_t)tc->net->base.lane->proc) {
            return pli_tcp_recv_refuse(tc, "a merge without a second connection");
        }
        tc->next = s;
        pli_tcp_conn_push(tc);
        return true;
    case PLI_MSG_MOVE:
        if (s != tc->old) {
            return pli_tcp_recv_refuse(tc, "a move without a merge");
        }
        pli_tcp_connect_moved(s);
        return true;
    case PLI_MSG_BYE:
        tc->has_left = tc->ucx == NULL || tc->net->bypass->peer_bye(tc, f->word[0]);
        return true;
    case PLI_MSG_UCX_LEAVE:
    case PLI_MSG_UCX_LEFT:
    case PLI_MSG_UCX_READY:
        return handle_closing(tc, f);
    default:
        return pli_tcp_recv_note(tc, f);
    }
}

// A complete head, and n bytes of what follows it. False: the connection is lost.
static bool handle(struct pli_tcp_sock *s, const struct pli_frame *f, const char *body, size_t n)
{
    const char *wrong = pli_frame_check(f);
    if (wrong != NULL) {
        return pli_tcp_recv_refuse(s->owner, wrong);
    }
    s->owner->has_left =
        s->owner->has_left && f->kind >= PLI_MSG_UCX_LEAVE; // these say nothing new
    if (f->kind == PLI_MSG_UCX_ADDRESS && f->len <= n) {
        handle_address(s->owner, f, body);
        return true;
    }
    if (f->kind > PLI_MSG_RTS && f->kind != PLI_MSG_DATA && f->kind != PLI_MSG_UCX_ADDRESS) {
        return handle_note(s, f);
    }
    if (f->kind <= PLI_MSG_RTS && f->len <= n) {
        pli_tcp_recv_arrive(s->owner, f, body);
        return true;
    }
    s->frame = *f;
    s->left = f->len;
    if (f->kind == PLI_MSG_DATA) {
        bool is_good = expect_piece(s, f);
        s->left = is_good ? s->left : 0;
        return is_good;
    }
    if (f->kind == PLI_MSG_UCX_ADDRESS) {
        return expect_worker(s, f);
    }
    expect(s, f);
    return true;
}

// What the other side wrote here it wrote after all that comes over its old connection, or by UCX.
static bool is_early(const struct pli_tcp_sock *s)
{
    const struct pli_tcp_conn *tc = s->owner;
    return (tc->old != NULL && s == tc->out) || (tc->ucx != NULL && tc->net->bypass->is_behind(tc));
}

// False: no memory, and the connection is lost.
static bool defer(struct pli_tcp_sock *s, const char *at, size_t n)
{
    s->deferred = malloc(n);
    if (s->deferred == NULL) {
        pli_tcp_connect_lose(s->owner, "there is no memory for what it sent");
        return false;
    }
    memcpy(s->deferred, at, n);
    s->n_deferred = n;
    pli_tcp_lane_watch(s->watch.net, &s->watch, 0);
    return true;
}

// Take apart what came into the buffer. False: the connection is lost.
static bool parse(struct pli_tcp_sock *s, const char *at, size_t n)
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
            return defer(s, at, n);
        }
        struct pli_frame f;
        memcpy(&f, at, sizeof f);
        at += sizeof f;
        n -= sizeof f;
        if (!handle(s, &f, at, n) || s->watch.fd < 0) {
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
    char *deferred = s->deferred;
    size_t n = s->n_deferred;
    if (deferred == NULL) {
        return;
    }
    s->deferred = NULL;
    s->n_deferred = 0;
    s->is_armed = false;
    pli_tcp_lane_watch(s->watch.net, &s->watch, EPOLLIN);
    bool is_up = parse(s, deferred, n);
    free(deferred);
    if (is_up && pli_secure_has_more(s->secure)) {
        pli_tcp_recv_read(s);
    }
}

void pli_tcp_recv_catch_up(struct pli_tcp_conn *tc)
{
    struct pli_list *at = tc->net->socks.next;
    while (at != &tc->net->socks) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        at = at->next;
        if (s->owner == tc && s->deferred != NULL && !is_early(s)) {
            pli_tcp_recv_resume(s);
            at = tc->net->socks.next; // others may be gone
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
        pli_tcp_connect_lose(s->owner, "there is no memory for what it sent");
        return;
    }
    memcpy(all, &s->frame, head);
    memcpy(all + head, data, n);
    s->n_head = 0;
    parse(s, all, head + n);
    free(all);
}

// One read. How many bytes, 0: nothing there, or the connection is lost.
static size_t read_once(struct pli_tcp_sock *s, bool *is_more_out)
{
    char *read_buf = s->owner->net->read_buf;
    struct iovec iov[2];
    int n_iov = 0;
    size_t direct = s->left > 0 && s->to != NULL ? (size_t)s->left : 0, head = s->n_head;
    if (direct > 0) {
        iov[n_iov++] = (struct iovec){ s->to, direct };
    }
    // What is read with the head of large data is copied twice: let it be little. bench: tcp_bw.
    size_t most = s->owner->n_asked > 0 ? BESIDE_LARGE : PLI_TCP_RECV_BUFFER;
    memcpy(read_buf, &s->frame, head);
    iov[n_iov++] = (struct iovec){ read_buf + head, most - head };
    struct msghdr mh = { .msg_iov = iov, .msg_iovlen = (size_t)n_iov };
    ssize_t n = s->secure != NULL ? pli_secure_receive(s->secure, s->watch.fd, iov, n_iov)
                : n_iov == 1      ? recv(s->watch.fd, iov[0].iov_base, iov[0].iov_len, MSG_DONTWAIT)
                                  : recvmsg(s->watch.fd, &mh, MSG_DONTWAIT);
    *is_more_out = false;
    if (n <= 0) {
        if (n < 0 && errno == ENOTSOCK) { // a checkpoint or a move has ended it
            if (pli_tcp_connect_resume(s)) {
                *is_more_out = true;
                return 1;
            }
            errno = pli_sock_is_pending(s->watch.fd) ? EAGAIN : ENOTSOCK;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            bool is_silent = errno == ETIMEDOUT || errno == EHOSTUNREACH; // keepalive found out
            pli_tcp_connect_closed(s, n == 0      ? NULL
                                      : is_silent ? "its host does not answer"
                                      : errno == EBADMSG
                                          ? "what came from it is not what it sent; it was "
                                            "altered on the network"
                                          : strerror(errno));
        }
        return 0;
    }
    size_t got = (size_t)n, total = got;
    size_t wanted = direct + most - head;
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
    bool is_up = got == 0 || parse(s, read_buf, head + got);
    *is_more_out = is_up && (total == wanted || s->left > 0);
    return total;
}

int pli_tcp_recv_read(struct pli_tcp_sock *s)
{
    int n = 0;
    bool is_more = true;
    // What was decrypted already, no descriptor tells of.
    while (((is_more && n < READS) || pli_secure_has_more(s->secure)) && s->watch.fd >= 0 &&
           s->deferred == NULL && read_once(s, &is_more) > 0) {
        n++;
    }
    return n;
}

void pli_tcp_recv_ready(struct pli_fd_watch *e, uint32_t events)
{
    struct pli_tcp_sock *s = (struct pli_tcp_sock *)e;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && pli_tcp_recv_read(s) > 0 && e->fd >= 0) {
        if (!s->owner->by_ucx) {
            pli_tcp_lane_set_active(e->net, s);
        }
        e->net->every = 1;
    }
    if ((events & EPOLLOUT) != 0 && e->fd >= 0) {
        pli_tcp_conn_push(s->owner);
        if (e->fd >= 0 && s->is_armed && !pli_tcp_conn_has_unsent(s->owner)) {
            s->is_armed = false;
            pli_tcp_lane_watch(e->net, e, EPOLLIN);
        }
    }
}
