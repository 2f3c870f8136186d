// SPDX-License-Identifier: BSD-3-Clause
// Sending by UCX. It keeps the order of messages and queues what it cannot send at once; their data
// stays in the user's buffer until it says so.
//
// The worker of a lane connects to the workers of others and handles their messages.
#include "net/ucx/ucx_conn.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "ckpt/freeze.h"
#include "msg/msg_wire.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "net/tcp/frame.h"
#include "net/tcp/tcp_bypass.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_connect.h"
#include "net/tcp/tcp_recv.h"
#include "net/ucx/ucx_quiesce.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    PIECE = 65536, // bytes of a message in pieces
    PIECES = 8,    // in a row, so that others get their turn
    LAST_LOOKS = 100000,
    FINAL_LOOKS = 1000,
    GRACE_NS = 2000000000
};

struct op {
    struct pli_ucx_op ucx;      // first
    struct pli_list at;         // in ops of the connection, or in free of the lane
    struct pli_tcp_conn *owner; // NULL: it was abandoned
    struct pli_ucx_worker *lane;
    struct pli_request *req; // NULL: a note
    char *bounce;
    uint64_t n; // bytes of data
    bool is_fetch;
    bool is_withdrawn; // what it is for was withdrawn; UCX still has its memory
    bool is_access;    // to the other side's memory: there is no frame
    struct pli_ucx_head head;
};

struct note {
    struct pli_list at;
    int kind;
    uint64_t word[3];
};

static struct op *take_op(struct pli_tcp_conn *tc, struct pli_request *r)
{
    struct pli_ucx_worker *u = tc->ucx->lane;
    struct op *o;
    if (!pli_list_is_empty(&u->free)) {
        o = PLI_CONTAINER(u->free.next, struct op, at);
        pli_list_remove(&o->at);
    } else {
        o = malloc(sizeof *o);
        if (o == NULL) {
            pli_log(PLI_ERROR, "no memory for a message on its way");
            abort();
        }
    }
    o->owner = tc;
    o->lane = u;
    o->req = r;
    o->bounce = NULL;
    o->n = 0;
    o->is_fetch = false;
    o->is_withdrawn = false;
    o->is_access = false;
    return o;
}

static void give_op(struct op *o)
{
    free(o->bounce);
    pli_list_push(&o->lane->free, &o->at);
}

static bool is_open(const struct pli_tcp_conn *tc)
{
    const struct pli_ucx_conn *x = tc->ucx;
    return x->peer != NULL && !x->is_broken && tc->state == PLI_TCP_CONN_UP &&
           x->phase == PLI_UCX_CONN_OPEN && (!x->is_reconnect || x->is_peer_ready);
}

// The rest of a large message that was begun.
static void go_on_with(struct pli_tcp_conn *tc, struct pli_request *send)
{
    if (tc->by_ucx) {
        pli_list_push(&tc->ucx->lane->streams, &send->link);
    } else {
        pli_list_push(&tc->streams, &send->link);
        pli_tcp_conn_push(tc);
    }
}

// Something of this connection failed. The connection decides what to make of it: mostly the other
// side has ended, and whether in good order is said there.
static void set_broken(struct pli_tcp_conn *tc, const char *why)
{
    if (!tc->ucx->is_broken) {
        tc->ucx->is_broken = true;
        pli_log(PLI_DEBUG, "the UCX connection to rank %u is broken: %s", tc->conn->proc, why);
        snprintf(tc->ucx->why, sizeof tc->ucx->why, "UCX: %s", why);
    }
    atomic_store_explicit(&tc->net->must_look, 1, memory_order_relaxed);
}

static void end_access(struct pli_tcp_conn *tc, struct pli_request *r, enum pli_err err)
{
    tc->ucx->n_access--;
    pli_request_complete(r, err);
}

// A piece, or all, of a large message is in its place.
static void took(struct pli_tcp_conn *tc, struct pli_request *recv, uint64_t n)
{
    uint64_t want = recv->bytes < recv->size ? recv->bytes : recv->size;
    recv->moved += n;
    if (recv->moved == want) {
        tc->n_asked--;
        pli_reqid_end(&tc->net->reqids, recv->item.seq);
        pli_rndv_end_receive(recv);
    }
}

static void end_good(struct op *o)
{
    struct pli_tcp_conn *tc = o->owner;
    struct pli_request *r = o->req;
    if (r == NULL) {
        return;
    }
    if (o->is_fetch) {
        took(tc, r, o->n);
    } else if (o->is_access) {
        end_access(tc, r, PLI_OK);
    } else if (o->head.frame.kind == PLI_MSG_EAGER) {
        pli_request_complete(r, PLI_OK);
    } else if (o->head.frame.kind == PLI_MSG_DATA) {
        r->moved += o->n;
        if (r->moved == r->bytes) {
            pli_tcp_conn_end_stream(tc, r);
        } else {
            go_on_with(tc, r);
        }
    }
}

// Requests whose ids are in use end with the connection; others wait for its end with those that
// were not sent.
static void keep_failed(struct op *o)
{
    struct pli_tcp_conn *tc = o->owner;
    if (o->is_access) {
        pli_list_push(&tc->ucx->failed, &o->req->link);
    } else if (!o->is_fetch && o->head.frame.kind == PLI_MSG_EAGER && o->req != NULL) {
        pli_list_push(&tc->pending, &o->req->link);
    }
}

static void end_bad(struct op *o, const char *why)
{
    struct pli_tcp_conn *tc = o->owner;
    keep_failed(o);
    set_broken(tc, why);
    if (tc->is_gone && !pli_tcp_conn_forget(tc)) {
        pli_tcp_connect_lose(tc, "it has left MPI");
    }
}

static void end(struct op *o, const char *why)
{
    struct pli_tcp_conn *tc = o->owner;
    bool is_withdrawn = o->is_withdrawn;
    if (tc != NULL) {
        if (why == NULL) {
            end_good(o);
        } else {
            end_bad(o, why);
        }
    }
    give_op(o);
    if (tc != NULL && is_withdrawn) { // what has not ended with it can be withdrawn now
        pli_tcp_connect_fail(tc, false);
    }
}

// UCX cannot be told to stop using memory that it reads or writes for a process that lives; that
// ends soon, as the other side makes progress.
static bool is_in_use(struct pli_tcp_conn *tc, struct pli_request *r)
{
    struct pli_list *ops = &tc->ucx->ops;
    for (struct pli_list *at = ops->next; at != ops; at = at->next) {
        struct op *o = PLI_CONTAINER(at, struct op, at);
        if (o->req == r) {
            bool is_ours = o->bounce != NULL || (!o->is_fetch && o->n == 0);
            o->req = is_ours ? NULL : r;
            o->is_withdrawn = !is_ours;
            return !is_ours;
        }
    }
    return false;
}

static void op_done(struct pli_ucx_op *ucx, const char *why)
{
    struct op *o = (struct op *)ucx;
    o->lane->n_op--;
    pli_list_remove(&o->at);
    end(o, why);
}

// After a call of UCX: it is done, under way, or failed.
static void go_on(struct op *o, enum pli_err err)
{
    if (err == PLI_AGAIN) {
        o->lane->n_op++;
        pli_list_push(&o->owner->ucx->ops, &o->at);
    } else {
        end(o, err == PLI_OK ? NULL : pli_fail_take(NULL));
    }
}

static void post(struct op *o, const void *data, uint64_t n, bool is_large)
{
    struct pli_ucx_conn *u = o->owner->ucx;
    o->ucx.done = op_done;
    o->n = n;
    o->head.slot = u->their_slot;
    o->head.spare = 0;
    o->head.key = u->their_key;
    u->n_out++;
    u->n_sent += o->head.frame.kind != PLI_MSG_UCX_ASK && o->head.frame.kind != PLI_MSG_UCX_SEEN;
    go_on(o, pli_ucx_send(u->peer, &o->head, sizeof o->head, data, n, is_large, &o->ucx));
}

static void issue(struct pli_tcp_conn *tc, struct pli_request *r)
{
    struct op *o = take_op(tc, r);
    const char *data = NULL;
    uint64_t n = 0;
    if (pli_tcp_conn_fill_head(tc, r, &o->head.frame) && r->size > 0) {
        n = r->size;
        data = pli_tcp_conn_data(r, 0, n, &o->bounce);
        o->head.frame.len = (uint32_t)n;
    }
    post(o, data, n, false);
}

void pli_ucx_conn_start(struct pli_request *r)
{
    struct pli_tcp_conn *tc = r->conn->net;
    if (is_open(tc) && pli_list_is_empty(&tc->pending) && !pli_ucx_quiesce_is_due(tc->net)) {
        issue(tc, r);
        return;
    }
    pli_list_push(&tc->pending, &r->link);
    if (tc->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(tc);
    }
}

static void issue_note(struct pli_tcp_conn *tc, int kind, const uint64_t word[3])
{
    struct op *o = take_op(tc, NULL);
    o->head.frame = (struct pli_frame){ .kind = (uint8_t)kind, .magic = PLI_FRAME_MAGIC };
    for (int i = 0; i < 3; i++) {
        o->head.frame.word[i] = word[i];
    }
    post(o, NULL, 0, false);
}

// The question what has arrived by UCX, or its answer. Neither is for the connection; and while UCX
// is left PLI_MSG_UCX_LEFT says that all has.
static bool is_of_ucx(int kind)
{
    return kind == PLI_MSG_UCX_ASK || kind == PLI_MSG_UCX_SEEN;
}

void pli_ucx_conn_note(struct pli_tcp_conn *tc, int kind, uint64_t w0, uint64_t w1, uint64_t w2)
{
    const uint64_t word[3] = { w0, w1, w2 };
    if (tc->state >= PLI_TCP_CONN_LOST || tc->is_gone || tc->ucx->is_broken ||
        (is_of_ucx(kind) && tc->ucx->phase != PLI_UCX_CONN_OPEN)) {
        return; // the other side is gone
    }
    if (is_open(tc)) {
        issue_note(tc, kind, word);
        return;
    }
    struct note *n = malloc(sizeof *n);
    if (n == NULL) {
        abort(); // an answer that cannot be kept would leave the other side waiting for ever
    }
    *n = (struct note){ .kind = kind, .word = { w0, w1, w2 } };
    pli_list_push(&tc->ucx->notes, &n->at);
    if (tc->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(tc);
    }
}

void pli_ucx_conn_push(struct pli_tcp_conn *tc)
{
    while ((!tc->by_ucx || is_open(tc)) && !pli_list_is_empty(&tc->ucx->notes)) {
        struct note *n = PLI_CONTAINER(tc->ucx->notes.next, struct note, at);
        pli_list_remove(&n->at);
        if (tc->by_ucx) {
            issue_note(tc, n->kind, n->word);
        } else if (!is_of_ucx(n->kind)) {
            pli_tcp_conn_note(tc, n->kind, n->word[0], n->word[1], n->word[2]);
        }
        free(n);
    }
    while (tc->by_ucx && is_open(tc) && !pli_list_is_empty(&tc->pending)) {
        struct pli_request *r = PLI_CONTAINER(tc->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        issue(tc, r);
    }
}

static void drop_notes(struct pli_tcp_conn *tc)
{
    while (!pli_list_is_empty(&tc->ucx->notes)) {
        struct note *n = PLI_CONTAINER(tc->ucx->notes.next, struct note, at);
        pli_list_remove(&n->at);
        free(n);
    }
}

static void issue_data(struct pli_tcp_conn *tc, struct pli_request *send, uint64_t n, bool is_large)
{
    struct op *o = take_op(tc, send);
    o->head.frame = (struct pli_frame){ .kind = PLI_MSG_DATA, .magic = PLI_FRAME_MAGIC };
    o->head.frame.word[0] = send->remote;
    o->head.frame.word[1] = send->moved;
    o->head.frame.word[2] = n;
    post(o, pli_tcp_conn_data(send, send->moved, n, &o->bounce), n, is_large);
}

static void stream(struct pli_tcp_conn *tc, struct pli_request *send, bool in_pieces)
{
    if (tc->ucx->is_broken || tc->state != PLI_TCP_CONN_UP) {
        return; // its id is in use, and ends with the connection
    }
    if (!is_open(tc)) { // it was offered over the connection
        pli_list_push(&tc->streams, &send->link);
        pli_tcp_conn_push(tc);
        return;
    }
    if (!in_pieces && send->cursor == NULL) {
        issue_data(tc, send, send->bytes, send->bytes > (uint64_t)pli_conf.ucx_eager_max);
        return;
    }
    go_on_with(tc, send);
}

static int push_pieces(struct pli_ucx_worker *u)
{
    int done = 0;
    while (done < PIECES && !pli_list_is_empty(&u->streams)) {
        struct pli_request *send = PLI_CONTAINER(u->streams.next, struct pli_request, link);
        pli_list_remove(&send->link);
        if (is_open(send->conn->net)) {
            uint64_t left = send->bytes - send->moved;
            issue_data(send->conn->net, send, left < PIECE ? left : PIECE, false);
        }
        done++;
    }
    return done;
}

static void flush_all(struct pli_tcp_conn *tc)
{
    if (is_open(tc)) {
        struct op *o = take_op(tc, NULL);
        o->ucx.done = op_done;
        o->head.frame.kind = PLI_MSG_NONE;
        go_on(o, pli_ucx_flush(tc->ucx->peer, &o->ucx));
    }
}

static bool has_unsent(const struct pli_tcp_conn *tc)
{
    return !pli_list_is_empty(&tc->ucx->ops) || !pli_list_is_empty(&tc->ucx->notes) ||
           (!tc->ucx->is_refused && !pli_list_is_empty(&tc->pending));
}

// Fetch the data of an offer for a receive.
static void fetch(struct pli_tcp_conn *tc, struct pli_request *recv, void *offer, uint64_t n)
{
    struct op *o = take_op(tc, recv);
    o->ucx.done = op_done;
    o->is_fetch = true;
    o->n = n;
    char *to = (char *)recv->buf + recv->type->true_lb + recv->moved;
    go_on(o, pli_ucx_fetch(tc->ucx->lane->ucx, offer, to, n, &o->ucx));
}

static enum pli_err begin_access(struct pli_ucx_peer *p, const struct pli_ucx_conn_access *a,
                                 struct pli_ucx_op *op)
{
    switch (a->kind) {
    case PLI_UCX_CONN_PUT:
        return pli_ucx_put(p, a->mine, a->n, a->at, a->key, op);
    case PLI_UCX_CONN_GET:
        return pli_ucx_get(p, a->mine, a->n, a->at, a->key, op);
    case PLI_UCX_CONN_ATOMIC:
        return pli_ucx_atomic(p, a->atomic, a->n, a->operand, a->mine, a->at, a->key, op);
    default:
        return pli_ucx_flush(p, op);
    }
}

bool pli_ucx_conn_access(struct pli_tcp_conn *tc, struct pli_request *r,
                         const struct pli_ucx_conn_access *a)
{
    if (tc->state >= PLI_TCP_CONN_LOST || tc->ucx->peer == NULL) {
        return false;
    }
    struct op *o = take_op(tc, r);
    o->ucx.done = op_done;
    o->is_access = true;
    tc->ucx->n_access++;
    go_on(o, tc->ucx->is_broken || tc->is_gone ? pli_fail(PLI_ERR_OTHER, "it has left MPI")
                                               : begin_access(tc->ucx->peer, a, &o->ucx));
    return true;
}

static void take_streams(struct pli_tcp_conn *tc, bool is_kept)
{
    struct pli_list *at = tc->ucx->lane->streams.next;
    while (at != &tc->ucx->lane->streams) {
        struct pli_request *send = PLI_CONTAINER(at, struct pli_request, link);
        at = at->next;
        if (send->conn == tc->conn) {
            pli_list_remove(&send->link);
            if (is_kept) {
                pli_list_push(&tc->streams, &send->link);
            }
        }
    }
}

void pli_ucx_conn_leave(struct pli_tcp_conn *tc)
{
    tc->by_ucx = false;
    take_streams(tc, true);
    pli_ucx_conn_push(tc);
    pli_tcp_conn_push(tc);
}

static void free_spare_ops(struct pli_ucx_worker *u)
{
    while (!pli_list_is_empty(&u->free)) {
        struct op *o = PLI_CONTAINER(u->free.next, struct op, at);
        pli_list_remove(&o->at);
        free(o);
    }
}

// UCX must not touch the buffers of requests that have failed.
static void abandon(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *u = tc->ucx;
    u->is_broken = true;
    pli_ucx_conn_set_waiting(u, false);
    drop_notes(tc);
    take_streams(tc, false);
    if (u->peer != NULL) {
        pli_ucx_disconnect(u->peer);
        u->peer = NULL;
        u->lane->n_connected--;
    }
    for (int i = 0; i < LAST_LOOKS && !pli_list_is_empty(&u->ops); i++) { // there is a worker
        pli_ucx_progress(u->lane->ucx);
    }
    while (!pli_list_is_empty(&u->ops)) {
        struct op *o = PLI_CONTAINER(u->ops.next, struct op, at);
        pli_list_remove(&o->at);
        keep_failed(o);
        o->owner = NULL;
    }
    while (!pli_list_is_empty(&u->failed)) {
        struct pli_request *r = PLI_CONTAINER(u->failed.next, struct pli_request, link);
        pli_list_remove(&r->link);
        end_access(tc, r, PLI_ERR_PROC_ABORTED);
    }
}

// Data that was asked for, or the offer of it. False: no receive asked for it.
static bool handle_data(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *data,
                        size_t n, void *offer)
{
    struct pli_request *recv =
        pli_reqid_find(&tc->net->reqids, f->word[0], tc->conn, PLI_REQID_RECV);
    if (recv == NULL && pli_reqid_is_withdrawn(&tc->net->reqids, f->word[0], tc->conn)) {
        return true; // it was withdrawn: what was offered is refused
    }
    uint64_t want = recv == NULL ? 0 : recv->bytes < recv->size ? recv->bytes : recv->size;
    if (recv == NULL || n == 0 || f->word[1] != recv->moved || f->word[2] != n ||
        n > want - recv->moved || (offer != NULL && recv->cursor != NULL)) {
        return pli_tcp_recv_refuse(tc, "data that no receive asked for");
    }
    if (offer != NULL) {
        fetch(tc, recv, offer, n);
        return true;
    }
    if (recv->cursor != NULL) {
        pli_cursor_unpack(recv->cursor, data, n);
    } else {
        memcpy((char *)recv->buf + recv->type->true_lb + recv->moved, data, n);
    }
    took(tc, recv, n);
    return true;
}

static bool handle_frame(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *data,
                         size_t n, void *offer)
{
    if (f->kind == PLI_MSG_DATA && f->magic == PLI_FRAME_MAGIC) {
        return handle_data(tc, f, data, n, offer);
    }
    const char *wrong = pli_frame_check(f);
    if (wrong != NULL || f->len != n || offer != NULL) {
        return pli_tcp_recv_refuse(tc,
                                   wrong != NULL ? wrong : "a size that does not match its data");
    }
    switch (f->kind) {
    case PLI_MSG_EAGER:
    case PLI_MSG_SYNC:
    case PLI_MSG_RTS:
        tc->has_left = false;
        pli_tcp_recv_arrive(tc, f, data);
        return true;
    case PLI_MSG_UCX_ASK:
        pli_ucx_conn_note(tc, PLI_MSG_UCX_SEEN, f->word[0], 0, 0);
        return true;
    case PLI_MSG_UCX_SEEN:
        tc->ucx->n_seen = f->word[0] > tc->ucx->n_sent ? tc->ucx->n_seen : f->word[0];
        return true;
    case PLI_MSG_UCX_ADDRESS:
    case PLI_MSG_BYE:
    case PLI_MSG_MERGE:
    case PLI_MSG_MOVE:
    case PLI_MSG_UCX_LEAVE:
    case PLI_MSG_UCX_LEFT:
    case PLI_MSG_UCX_READY:
        return pli_tcp_recv_refuse(tc, "what may only come over TCP");
    default:
        return pli_tcp_recv_note(tc, f);
    }
}

static bool has_all(const struct pli_ucx_conn *u)
{
    return u->has_bye && u->n_in >= u->bye_at;
}

// Any process that knows its address can send to the worker; messages without the key are dropped.
static void handle(void *arg, const void *head, size_t n_head, const void *data, size_t n,
                   void *offer)
{
    struct pli_ucx_worker *u = arg;
    struct pli_ucx_head h;
    if (n_head != sizeof h) {
        return;
    }
    memcpy(&h, head, sizeof h);
    struct pli_tcp_conn *tc = h.slot < u->n_slot ? u->slots[h.slot] : NULL;
    if (tc == NULL || tc->ucx->key != h.key || tc->state == PLI_TCP_CONN_DEAD) {
        pli_log(PLI_DEBUG, "dropped a message without a valid key");
        return;
    }
    tc->ucx->n_in++;
    if (tc->ucx->is_peer_leaving && tc->ucx->n_in > tc->ucx->n_before_leave) {
        pli_tcp_recv_refuse(tc, "more messages than it has announced");
        return;
    }
    if (handle_frame(tc, &h.frame, data, n, offer) && has_all(tc->ucx) &&
        tc->ucx->n_in == tc->ucx->bye_at) {
        tc->has_left = true;
        pli_tcp_connect_left(tc);
    }
}

static void lost(void *arg, const char *why)
{
    struct pli_tcp_conn *tc = arg;
    pli_log(PLI_DEBUG, "UCX has lost rank %u: %s", tc->conn->proc, why);
    tc->ucx->is_broken = true;
    tc->ucx->broken_ns = pli_clock_ns();
    snprintf(tc->ucx->why, sizeof tc->ucx->why, "UCX says: %s", why);
    atomic_store_explicit(&tc->net->must_look, 1, memory_order_relaxed);
}

static const struct pli_ucx_calls calls = { handle, lost };

enum pli_err pli_ucx_conn_start_worker(struct pli_ucx_worker *u)
{
    pli_ucx_quiesce_count(1);
    enum pli_err err = pli_ucx_open(&calls, u, &u->ucx);
    if (err == PLI_OK) {
        u->address = pli_ucx_address(u->ucx, &u->n_address);
        if (u->address == NULL || u->n_address > PLI_FRAME_ADDRESS_MAX) {
            pli_ucx_conn_stop_worker(u);
            return pli_fail(PLI_ERR_OTHER, "its address cannot be had");
        }
    } else {
        pli_ucx_quiesce_count(-1);
    }
    return err;
}

void pli_ucx_conn_stop_worker(struct pli_ucx_worker *u)
{
    pli_ucx_close(u->ucx);
    u->ucx = NULL;
    free(u->address);
    u->address = NULL;
    pli_ucx_quiesce_count(-1);
}

// A late message for the connection that had the slot before bears another key.
static bool take_slot(struct pli_ucx_worker *u, uint32_t *out)
{
    if (u->n_free_slot > 0) {
        uint32_t i = 0;
        while (u->slots[i] != NULL) {
            i++;
        }
        u->n_free_slot--;
        *out = i;
        return true;
    }
    struct pli_tcp_conn **slots = realloc(u->slots, (u->n_slot + 1) * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    u->slots = slots;
    *out = u->n_slot++;
    return true;
}

static bool create(struct pli_tcp_conn *tc)
{
    struct pli_ucx_worker *u = tc->net->ucx;
    struct pli_ucx_conn *x = calloc(1, sizeof *x);
    if (x == NULL || getrandom(&x->key, sizeof x->key, 0) != sizeof x->key ||
        !take_slot(u, &x->slot)) {
        free(x);
        return false;
    }
    x->lane = u;
    u->slots[x->slot] = tc;
    pli_list_init(&x->ops);
    pli_list_init(&x->notes);
    pli_list_init(&x->failed);
    tc->ucx = x;
    tc->by_ucx = u->ucx != NULL;
    x->phase = u->ucx != NULL ? PLI_UCX_CONN_OPEN : PLI_UCX_CONN_CLOSED;
    x->is_address_sent = u->ucx == NULL;
    return true;
}

static bool destroy(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *x = tc->ucx;
    struct pli_ucx_worker *u = x->lane;
    if (!pli_list_is_empty(&x->ops) || !pli_list_is_empty(&x->failed) || x->n_access > 0 ||
        (x->peer != NULL && !pli_ucx_disconnect(x->peer))) {
        return false;
    }
    pli_ucx_conn_set_waiting(x, false);
    u->n_connected -= x->peer != NULL;
    u->slots[x->slot] = NULL;
    u->n_free_slot++;
    tc->ucx = NULL;
    free(x);
    return true;
}

static void leave_lane(struct pli_tcp_lane *net)
{
    struct pli_ucx_worker *u = net->ucx;
    for (struct pli_list *at = net->conns.next; at != &net->conns; at = at->next) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        free(tc->ucx);
        tc->ucx = NULL;
    }
    free_spare_ops(u);
    free(u->slots);
    free(u);
    net->ucx = NULL;
}

static int poll_lane(struct pli_tcp_lane *net, bool must_look)
{
    struct pli_ucx_worker *u = net->ucx;
    int n = 0;
    if (u->ucx != NULL) {
        n = pli_ucx_progress(u->ucx);
        n += pli_list_is_empty(&u->streams) ? 0 : push_pieces(u);
    }
    if (u->is_quiescing || (must_look && pli_ucx_quiesce_is_wanted())) {
        pli_ucx_quiesce_poll(u);
    }
    return n;
}

static bool is_steady(const struct pli_tcp_lane *net)
{
    return net->ucx->n_connected > 0 && net->ucx->n_wait == 0;
}

static bool is_busy(const struct pli_tcp_lane *net)
{
    return net->ucx->n_op > 0 || !pli_list_is_empty(&net->ucx->streams);
}

static int lane_fd(const struct pli_tcp_lane *net)
{
    return net->ucx->ucx != NULL ? pli_ucx_fd(net->ucx->ucx) : -1;
}

static bool arm(struct pli_tcp_lane *net)
{
    pli_lock_take(&net->base.lane->lock);
    bool is_quiet = net->ucx->ucx == NULL || pli_ucx_arm(net->ucx->ucx);
    pli_lock_drop(&net->base.lane->lock);
    return is_quiet;
}

static bool has_address(const struct pli_tcp_conn *tc)
{
    return !tc->ucx->is_address_sent;
}

// After messages have gone over the connection the address follows the notes of that time.
static bool may_write_address(const struct pli_tcp_conn *tc)
{
    return has_address(tc) && (!tc->ucx->is_reconnect || pli_list_is_empty(&tc->notes));
}

static const char *write_address(struct pli_tcp_conn *tc, struct pli_frame *head)
{
    const struct pli_ucx_worker *u = tc->ucx->lane;
    tc->ucx->is_address_sent = true;
    pli_ucx_conn_set_waiting(tc->ucx, tc->ucx->peer == NULL && !tc->ucx->is_refused);
    head->word[0] = tc->ucx->slot;
    head->word[1] = tc->ucx->key;
    head->word[2] = tc->ucx->is_reconnect;
    head->len = (uint32_t)u->n_address;
    return u->address;
}

// No UCX to this one. Each side decides for what it sends; both understand either way.
static void refuse(struct pli_tcp_conn *tc, const char *why)
{
    if (tc->ucx->lane->is_required) {
        pli_tcp_connect_lose(tc, why);
        return;
    }
    pli_log(PLI_INFO, "messages to rank %u go over tcp: %s", tc->conn->proc, why);
    tc->ucx->is_refused = true;
    tc->by_ucx = false;
    pli_ucx_conn_push(tc);
    pli_tcp_conn_push(tc);
}

static void connect(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *address)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (tc->state >= PLI_TCP_CONN_LOST || !pli_ucx_quiesce_may_connect(tc)) {
        return;
    }
    if (f->word[2] != 0) {
        pli_tcp_conn_note(tc, PLI_MSG_UCX_READY, 0, 0, 0);
    }
    if (x->peer != NULL || x->is_refused) {
        return;
    }
    pli_ucx_conn_set_waiting(x, false);
    if (f->len == 0) {
        refuse(tc, "it does not use UCX");
        return;
    }
    x->their_slot = (uint32_t)f->word[0];
    x->their_key = f->word[1];
    if (pli_ucx_connect(x->lane->ucx, address, tc, &x->peer) != PLI_OK) {
        refuse(tc, pli_fail_take(NULL));
        return;
    }
    x->lane->n_connected++;
    pli_ucx_conn_push(tc);
}

static bool peer_bye(struct pli_tcp_conn *tc, uint64_t n)
{
    tc->ucx->has_bye = true;
    tc->ucx->bye_at = n;
    return tc->ucx->n_in >= n;
}

static uint64_t bye(struct pli_tcp_conn *tc)
{
    if (!tc->has_left) {
        flush_all(tc);
    }
    return tc->ucx->n_out;
}

static void finish(struct pli_tcp_conn *tc)
{
    for (int i = 0; i < FINAL_LOOKS && !has_all(tc->ucx) && tc->ucx->lane->ucx != NULL; i++) {
        pli_ucx_progress(tc->ucx->lane->ucx);
    }
}

// The connection of UCX broke although the other side lives and the TCP connection stands.
static void check(struct pli_tcp_conn *tc, uint64_t now)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (x->is_broken && x->broken_ns == 0) {
        x->broken_ns = now;
    }
    if (x->is_broken && !tc->has_left && now - x->broken_ns > GRACE_NS) {
        pli_tcp_connect_lose(tc, x->why);
    }
}

static bool is_unacked(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (x->is_refused || x->peer == NULL || x->is_broken || tc->has_left ||
        x->n_seen == x->n_sent) {
        return false;
    }
    if (x->n_asked_for != x->n_sent) {
        x->n_asked_for = x->n_sent;
        pli_ucx_conn_note(tc, PLI_MSG_UCX_ASK, x->n_sent, 0, 0);
    }
    return true;
}

static bool is_finished(const struct pli_tcp_conn *tc)
{
    const struct pli_ucx_conn *x = tc->ucx;
    return x->peer == NULL || x->is_broken || has_all(x);
}

static bool forget(struct pli_tcp_conn *tc)
{
    drop_notes(tc);
    return tc->ucx->n_access == 0;
}

static void unqueue(struct pli_tcp_conn *tc, struct pli_request *r)
{
    if (pli_list_has(&tc->net->ucx->streams, &r->link)) {
        pli_list_remove(&r->link);
    }
}

const struct pli_tcp_bypass_ops pli_ucx_conn_bypass = {
    .poll = poll_lane,
    .is_steady = is_steady,
    .is_busy = is_busy,
    .fd = lane_fd,
    .arm = arm,
    .thawed = pli_ucx_quiesce_thawed,
    .leave = leave_lane,
    .create = create,
    .destroy = destroy,
    .has_address = has_address,
    .may_write_address = may_write_address,
    .write_address = write_address,
    .connect = connect,
    .closing = pli_ucx_quiesce_closing,
    .must_wait = pli_ucx_quiesce_is_due,
    .stream = stream,
    .has_unsent = has_unsent,
    .is_unacked = is_unacked,
    .is_behind = pli_ucx_quiesce_is_behind,
    .bye = bye,
    .peer_bye = peer_bye,
    .finish = finish,
    .is_finished = is_finished,
    .forget = forget,
    .check = check,
    .is_in_use = is_in_use,
    .unqueue = unqueue,
    .abandon = abandon,
};

enum pli_err pli_ucx_conn_open(struct pli_tcp_lane *net)
{
    const char *why;
    if (!pli_ucx_is_chosen(&why)) {
        return PLI_OK;
    }
    struct pli_ucx_worker *u = calloc(1, sizeof *u);
    if (u == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the network side of a lane");
    }
    u->net = net;
    u->may_register = !pli_freeze_is_open() && !pli_request_may_be_withdrawn;
    if (!u->may_register) {
        pli_ucx_avoid_shm(pli_request_may_be_withdrawn);
    }
    u->is_required = strcmp(pli_conf.net, "auto") != 0;
    pli_list_init(&u->streams);
    pli_list_init(&u->free);
    u->is_quiescing = pli_ucx_quiesce_is_wanted();
    enum pli_err err = u->is_quiescing ? PLI_OK : pli_ucx_conn_start_worker(u);
    if (err != PLI_OK) {
        const char *what = pli_fail_take(NULL);
        if (u->is_required) {
            err = pli_fail(PLI_ERR_OTHER, "PLIANT_NET=%s, but %s", pli_conf.net, what);
        } else {
            pli_log(PLI_INFO, "%s, but %s; using tcp", why, what);
            err = PLI_OK;
        }
        free(u);
        return err;
    }
    net->ucx = u;
    net->bypass = &pli_ucx_conn_bypass;
    pli_ucx_quiesce_open();
    pli_log(PLI_DEBUG, "lane %d uses UCX: %s", net->base.lane->index, why);
    return PLI_OK;
}
