// SPDX-License-Identifier: BSD-3-Clause
// Sending by UCX. It keeps the order of messages and queues what it cannot send at once; their data
// stays in the user's buffer until it says so.
//
// The worker of a lane meets the workers of others, hears from them, and parts from them.
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
    struct pli_ucx_op ucx;     // first
    struct pli_list at;        // in ops of the link, or in free of the lane
    struct pli_tcp_conn *link; // NULL: it was buried
    struct pli_ucx_worker *lane;
    struct pli_request *req; // NULL: a note
    char *bounce;
    uint64_t n; // bytes of data
    bool is_fetch;
    bool is_doomed; // what it is for was withdrawn; UCX still has its memory
    bool is_access; // to the other side's memory: there is no frame
    struct pli_ucx_head head;
};

struct note {
    struct pli_list at;
    int kind;
    uint64_t word[3];
};

static struct op *take_op(struct pli_tcp_conn *l, struct pli_request *r)
{
    struct pli_ucx_worker *u = l->ucx->lane;
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
    o->link = l;
    o->lane = u;
    o->req = r;
    o->bounce = NULL;
    o->n = 0;
    o->is_fetch = false;
    o->is_doomed = false;
    o->is_access = false;
    return o;
}

static void give_op(struct op *o)
{
    free(o->bounce);
    pli_list_push(&o->lane->free, &o->at);
}

static bool is_open(const struct pli_tcp_conn *l)
{
    const struct pli_ucx_conn *x = l->ucx;
    return x->peer != NULL && !x->is_broken && l->state == PLI_TCP_CONN_UP &&
           x->phase == PLI_UCX_CONN_IN && (!x->is_again || x->is_met);
}

// The rest of a large message that was begun.
static void go_on_with(struct pli_tcp_conn *l, struct pli_request *send)
{
    if (l->by_ucx) {
        pli_list_push(&l->ucx->lane->streams, &send->link);
    } else {
        pli_list_push(&l->streams, &send->link);
        pli_tcp_conn_push(l);
    }
}

// Something of this link failed. The connection decides what to make of it: mostly the other side
// has ended, and whether in good order is said there.
static void note_broken(struct pli_tcp_conn *l, const char *why)
{
    if (!l->ucx->is_broken) {
        l->ucx->is_broken = true;
        pli_log(PLI_DEBUG, "the way by UCX to rank %u is broken: %s", l->conn->proc, why);
        snprintf(l->ucx->why, sizeof l->ucx->why, "UCX: %s", why);
    }
    atomic_store_explicit(&l->net->must_look, 1, memory_order_relaxed);
}

static void end_access(struct pli_tcp_conn *l, struct pli_request *r, enum pli_err err)
{
    l->ucx->n_access--;
    pli_request_complete(r, err);
}

// A piece, or all, of a large message is in its place.
static void took(struct pli_tcp_conn *l, struct pli_request *recv, uint64_t n)
{
    uint64_t want = recv->bytes < recv->size ? recv->bytes : recv->size;
    recv->moved += n;
    if (recv->moved == want) {
        l->n_asked--;
        pli_reqid_end(&l->net->reqids, recv->item.seq);
        pli_rndv_end_receive(recv);
    }
}

static void end_good(struct op *o)
{
    struct pli_tcp_conn *l = o->link;
    struct pli_request *r = o->req;
    if (r == NULL) {
        return;
    }
    if (o->is_fetch) {
        took(l, r, o->n);
    } else if (o->is_access) {
        end_access(l, r, PLI_OK);
    } else if (o->head.frame.kind == PLI_MSG_EAGER) {
        pli_request_complete(r, PLI_OK);
    } else if (o->head.frame.kind == PLI_MSG_DATA) {
        r->moved += o->n;
        if (r->moved == r->bytes) {
            pli_tcp_conn_end_stream(l, r);
        } else {
            go_on_with(l, r);
        }
    }
}

// Requests whose ids are out end with the link; others wait for its end with those that were
// not sent.
static void strand(struct op *o)
{
    struct pli_tcp_conn *l = o->link;
    if (o->is_access) {
        pli_list_push(&l->ucx->stranded, &o->req->link);
    } else if (!o->is_fetch && o->head.frame.kind == PLI_MSG_EAGER && o->req != NULL) {
        pli_list_push(&l->pending, &o->req->link);
    }
}

static void end_bad(struct op *o, const char *why)
{
    struct pli_tcp_conn *l = o->link;
    strand(o);
    note_broken(l, why);
    if (l->is_gone && !pli_tcp_conn_forget(l)) {
        pli_tcp_connect_lose(l, "it has left MPI");
    }
}

static void end(struct op *o, const char *why)
{
    struct pli_tcp_conn *l = o->link;
    bool is_doomed = o->is_doomed;
    if (l != NULL) {
        if (why == NULL) {
            end_good(o);
        } else {
            end_bad(o, why);
        }
    }
    give_op(o);
    if (l != NULL && is_doomed) { // what has not ended with it can be withdrawn now
        pli_tcp_connect_fail(l, false);
    }
}

// UCX cannot be told to let go of memory that it reads or writes for a side that lives; that ends
// soon, as the other side moves on.
static bool is_in_use(struct pli_tcp_conn *l, struct pli_request *r)
{
    struct pli_list *ops = &l->ucx->ops;
    for (struct pli_list *at = ops->next; at != ops; at = at->next) {
        struct op *o = PLI_CONTAINER(at, struct op, at);
        if (o->req == r) {
            bool is_ours = o->bounce != NULL || (!o->is_fetch && o->n == 0);
            o->req = is_ours ? NULL : r;
            o->is_doomed = !is_ours;
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
        pli_list_push(&o->link->ucx->ops, &o->at);
    } else {
        end(o, err == PLI_OK ? NULL : pli_fail_take(NULL));
    }
}

static void post(struct op *o, const void *data, uint64_t n, bool is_large)
{
    struct pli_ucx_conn *u = o->link->ucx;
    o->ucx.done = op_done;
    o->n = n;
    o->head.place = u->their_place;
    o->head.spare = 0;
    o->head.key = u->their_key;
    u->n_out++;
    u->said += o->head.frame.kind != PLI_MSG_SURE && o->head.frame.kind != PLI_MSG_SURED;
    go_on(o, pli_ucx_send(u->peer, &o->head, sizeof o->head, data, n, is_large, &o->ucx));
}

static void issue(struct pli_tcp_conn *l, struct pli_request *r)
{
    struct op *o = take_op(l, r);
    const char *data = NULL;
    uint64_t n = 0;
    if (pli_tcp_conn_fill_head(l, r, &o->head.frame) && r->size > 0) {
        n = r->size;
        data = pli_tcp_conn_data(r, 0, n, &o->bounce);
        o->head.frame.len = (uint32_t)n;
    }
    post(o, data, n, false);
}

void pli_ucx_conn_start(struct pli_request *r)
{
    struct pli_tcp_conn *l = r->conn->net;
    if (is_open(l) && pli_list_is_empty(&l->pending) && !pli_ucx_quiesce_is_due(l->net)) {
        issue(l, r);
        return;
    }
    pli_list_push(&l->pending, &r->link);
    if (l->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(l);
    }
}

static void issue_note(struct pli_tcp_conn *l, int kind, const uint64_t word[3])
{
    struct op *o = take_op(l, NULL);
    o->head.frame = (struct pli_frame){ .kind = (uint8_t)kind, .mark = PLI_FRAME_MARK };
    for (int i = 0; i < 3; i++) {
        o->head.frame.word[i] = word[i];
    }
    post(o, NULL, 0, false);
}

// The question what has arrived by UCX, or its answer. Neither is for the connection; and while UCX
// is left PLI_MSG_OVER says that all has.
static bool is_of_ucx(int kind)
{
    return kind == PLI_MSG_SURE || kind == PLI_MSG_SURED;
}

void pli_ucx_conn_note(struct pli_tcp_conn *l, int kind, uint64_t w0, uint64_t w1, uint64_t w2)
{
    const uint64_t word[3] = { w0, w1, w2 };
    if (l->state >= PLI_TCP_CONN_LOST || l->is_gone || l->ucx->is_broken ||
        (is_of_ucx(kind) && l->ucx->phase != PLI_UCX_CONN_IN)) {
        return; // nobody is there to hear it
    }
    if (is_open(l)) {
        issue_note(l, kind, word);
        return;
    }
    struct note *n = malloc(sizeof *n);
    if (n == NULL) {
        abort(); // an answer that cannot be kept would leave the other side waiting for ever
    }
    *n = (struct note){ .kind = kind, .word = { w0, w1, w2 } };
    pli_list_push(&l->ucx->notes, &n->at);
    if (l->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(l);
    }
}

void pli_ucx_conn_push(struct pli_tcp_conn *l)
{
    while ((!l->by_ucx || is_open(l)) && !pli_list_is_empty(&l->ucx->notes)) {
        struct note *n = PLI_CONTAINER(l->ucx->notes.next, struct note, at);
        pli_list_remove(&n->at);
        if (l->by_ucx) {
            issue_note(l, n->kind, n->word);
        } else if (!is_of_ucx(n->kind)) {
            pli_tcp_conn_note(l, n->kind, n->word[0], n->word[1], n->word[2]);
        }
        free(n);
    }
    while (l->by_ucx && is_open(l) && !pli_list_is_empty(&l->pending)) {
        struct pli_request *r = PLI_CONTAINER(l->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        issue(l, r);
    }
}

static void drop_notes(struct pli_tcp_conn *l)
{
    while (!pli_list_is_empty(&l->ucx->notes)) {
        struct note *n = PLI_CONTAINER(l->ucx->notes.next, struct note, at);
        pli_list_remove(&n->at);
        free(n);
    }
}

static void issue_data(struct pli_tcp_conn *l, struct pli_request *send, uint64_t n, bool is_large)
{
    struct op *o = take_op(l, send);
    o->head.frame = (struct pli_frame){ .kind = PLI_MSG_DATA, .mark = PLI_FRAME_MARK };
    o->head.frame.word[0] = send->remote;
    o->head.frame.word[1] = send->moved;
    o->head.frame.word[2] = n;
    post(o, pli_tcp_conn_data(send, send->moved, n, &o->bounce), n, is_large);
}

static void stream(struct pli_tcp_conn *l, struct pli_request *send, bool in_pieces)
{
    if (l->ucx->is_broken || l->state != PLI_TCP_CONN_UP) {
        return; // its ticket is out, and ends with the link
    }
    if (!is_open(l)) { // it was offered over the connection
        pli_list_push(&l->streams, &send->link);
        pli_tcp_conn_push(l);
        return;
    }
    if (!in_pieces && send->cursor == NULL) {
        issue_data(l, send, send->bytes, send->bytes > (uint64_t)pli_conf.ucx_eager_max);
        return;
    }
    go_on_with(l, send);
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

static void flush_all(struct pli_tcp_conn *l)
{
    if (is_open(l)) {
        struct op *o = take_op(l, NULL);
        o->ucx.done = op_done;
        o->head.frame.kind = PLI_MSG_NONE;
        go_on(o, pli_ucx_flush(l->ucx->peer, &o->ucx));
    }
}

static bool has_unsent(const struct pli_tcp_conn *l)
{
    return !pli_list_is_empty(&l->ucx->ops) || !pli_list_is_empty(&l->ucx->notes) ||
           (!l->ucx->is_refused && !pli_list_is_empty(&l->pending));
}

// Fetch the data of an offer for a receive.
static void fetch(struct pli_tcp_conn *l, struct pli_request *recv, void *offer, uint64_t n)
{
    struct op *o = take_op(l, recv);
    o->ucx.done = op_done;
    o->is_fetch = true;
    o->n = n;
    char *to = (char *)recv->buf + recv->type->true_lb + recv->moved;
    go_on(o, pli_ucx_fetch(l->ucx->lane->ucx, offer, to, n, &o->ucx));
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

bool pli_ucx_conn_reach(struct pli_tcp_conn *l, struct pli_request *r,
                        const struct pli_ucx_conn_access *a)
{
    if (l->state >= PLI_TCP_CONN_LOST || l->ucx->peer == NULL) {
        return false;
    }
    struct op *o = take_op(l, r);
    o->ucx.done = op_done;
    o->is_access = true;
    l->ucx->n_access++;
    go_on(o, l->ucx->is_broken || l->is_gone ? pli_fail(PLI_ERR_OTHER, "it has left MPI")
                                             : begin_access(l->ucx->peer, a, &o->ucx));
    return true;
}

static void take_streams(struct pli_tcp_conn *l, bool is_kept)
{
    struct pli_list *at = l->ucx->lane->streams.next;
    while (at != &l->ucx->lane->streams) {
        struct pli_request *send = PLI_CONTAINER(at, struct pli_request, link);
        at = at->next;
        if (send->conn == l->conn) {
            pli_list_remove(&send->link);
            if (is_kept) {
                pli_list_push(&l->streams, &send->link);
            }
        }
    }
}

void pli_ucx_conn_leave(struct pli_tcp_conn *l)
{
    l->by_ucx = false;
    take_streams(l, true);
    pli_ucx_conn_push(l);
    pli_tcp_conn_push(l);
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
static void bury(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *u = l->ucx;
    u->is_broken = true;
    pli_ucx_conn_set_waiting(u, false);
    drop_notes(l);
    take_streams(l, false);
    if (u->peer != NULL) {
        pli_ucx_part(u->peer);
        u->peer = NULL;
        u->lane->n_met--;
    }
    for (int i = 0; i < LAST_LOOKS && !pli_list_is_empty(&u->ops); i++) { // there is a worker
        pli_ucx_progress(u->lane->ucx);
    }
    while (!pli_list_is_empty(&u->ops)) {
        struct op *o = PLI_CONTAINER(u->ops.next, struct op, at);
        pli_list_remove(&o->at);
        strand(o);
        o->link = NULL;
    }
    while (!pli_list_is_empty(&u->stranded)) {
        struct pli_request *r = PLI_CONTAINER(u->stranded.next, struct pli_request, link);
        pli_list_remove(&r->link);
        end_access(l, r, PLI_ERR_PROC_ABORTED);
    }
}

// Data that was asked for, or the offer of it. False: nobody asked.
static bool hear_data(struct pli_tcp_conn *l, const struct pli_frame *f, const char *data, size_t n,
                      void *offer)
{
    struct pli_request *recv = pli_reqid_find(&l->net->reqids, f->word[0], l->conn, PLI_REQID_RECV);
    if (recv == NULL && pli_reqid_is_ghost(&l->net->reqids, f->word[0], l->conn)) {
        return true; // it was withdrawn: what was offered is refused
    }
    uint64_t want = recv == NULL ? 0 : recv->bytes < recv->size ? recv->bytes : recv->size;
    if (recv == NULL || n == 0 || f->word[1] != recv->moved || f->word[2] != n ||
        n > want - recv->moved || (offer != NULL && recv->cursor != NULL)) {
        return pli_tcp_recv_refuse(l, "data nobody asked for");
    }
    if (offer != NULL) {
        fetch(l, recv, offer, n);
        return true;
    }
    if (recv->cursor != NULL) {
        pli_cursor_unpack(recv->cursor, data, n);
    } else {
        memcpy((char *)recv->buf + recv->type->true_lb + recv->moved, data, n);
    }
    took(l, recv, n);
    return true;
}

static bool hear_frame(struct pli_tcp_conn *l, const struct pli_frame *f, const char *data,
                       size_t n, void *offer)
{
    if (f->kind == PLI_MSG_DATA && f->mark == PLI_FRAME_MARK) {
        return hear_data(l, f, data, n, offer);
    }
    const char *wrong = pli_frame_check(f);
    if (wrong != NULL || f->len != n || offer != NULL) {
        return pli_tcp_recv_refuse(l, wrong != NULL ? wrong : "two sizes that differ");
    }
    switch (f->kind) {
    case PLI_MSG_EAGER:
    case PLI_MSG_SYNC:
    case PLI_MSG_RTS:
        l->has_left = false;
        pli_tcp_recv_arrive(l, f, data);
        return true;
    case PLI_MSG_SURE:
        pli_ucx_conn_note(l, PLI_MSG_SURED, f->word[0], 0, 0);
        return true;
    case PLI_MSG_SURED:
        l->ucx->sure = f->word[0] > l->ucx->said ? l->ucx->sure : f->word[0];
        return true;
    case PLI_MSG_WORKER:
    case PLI_MSG_BYE:
    case PLI_MSG_MERGE:
    case PLI_MSG_MOVE:
    case PLI_MSG_AWAY:
    case PLI_MSG_OVER:
    case PLI_MSG_MET:
        return pli_tcp_recv_refuse(l, "what belongs to a connection");
    default:
        return pli_tcp_recv_note(l, f);
    }
}

static bool has_all(const struct pli_ucx_conn *u)
{
    return u->has_bye && u->n_in >= u->bye_at;
}

// Anybody may reach the worker who knows where it is; only who was told the key is listened to.
static void hear(void *arg, const void *head, size_t n_head, const void *data, size_t n,
                 void *offer)
{
    struct pli_ucx_worker *u = arg;
    struct pli_ucx_head h;
    if (n_head != sizeof h) {
        return;
    }
    memcpy(&h, head, sizeof h);
    struct pli_tcp_conn *l = h.place < u->n_place ? u->places[h.place] : NULL;
    if (l == NULL || l->ucx->key != h.key || l->state == PLI_TCP_CONN_DEAD) {
        pli_log(PLI_DEBUG, "dropped a message from nobody");
        return;
    }
    l->ucx->n_in++;
    if (l->ucx->has_away && l->ucx->n_in > l->ucx->away_at) {
        pli_tcp_recv_refuse(l, "more than it had sent");
        return;
    }
    if (hear_frame(l, &h.frame, data, n, offer) && has_all(l->ucx) &&
        l->ucx->n_in == l->ucx->bye_at) {
        l->has_left = true;
        pli_tcp_connect_left(l);
    }
}

static void lost(void *arg, const char *why)
{
    struct pli_tcp_conn *l = arg;
    pli_log(PLI_DEBUG, "UCX has lost rank %u: %s", l->conn->proc, why);
    l->ucx->is_broken = true;
    l->ucx->broken_ns = pli_clock_ns();
    snprintf(l->ucx->why, sizeof l->ucx->why, "UCX says: %s", why);
    atomic_store_explicit(&l->net->must_look, 1, memory_order_relaxed);
}

static const struct pli_ucx_calls calls = { hear, lost };

enum pli_err pli_ucx_conn_start_worker(struct pli_ucx_worker *u)
{
    pli_ucx_quiesce_count(1);
    enum pli_err err = pli_ucx_open(&calls, u, &u->ucx);
    if (err == PLI_OK) {
        u->address = pli_ucx_address(u->ucx, &u->n_address);
        if (u->address == NULL || u->n_address > PLI_FRAME_WORKER_MAX) {
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

// What comes late for who had it before bears another key.
static bool take_place(struct pli_ucx_worker *u, uint32_t *out)
{
    if (u->n_spare > 0) {
        uint32_t i = 0;
        while (u->places[i] != NULL) {
            i++;
        }
        u->n_spare--;
        *out = i;
        return true;
    }
    struct pli_tcp_conn **places = realloc(u->places, (u->n_place + 1) * sizeof *places);
    if (places == NULL) {
        return false;
    }
    u->places = places;
    *out = u->n_place++;
    return true;
}

static bool create(struct pli_tcp_conn *l)
{
    struct pli_ucx_worker *u = l->net->ucx;
    struct pli_ucx_conn *x = calloc(1, sizeof *x);
    if (x == NULL || getrandom(&x->key, sizeof x->key, 0) != sizeof x->key ||
        !take_place(u, &x->place)) {
        free(x);
        return false;
    }
    x->lane = u;
    u->places[x->place] = l;
    pli_list_init(&x->ops);
    pli_list_init(&x->notes);
    pli_list_init(&x->stranded);
    l->ucx = x;
    l->by_ucx = u->ucx != NULL;
    x->phase = u->ucx != NULL ? PLI_UCX_CONN_IN : PLI_UCX_CONN_OUT;
    x->has_hailed = u->ucx == NULL;
    return true;
}

static bool destroy(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    struct pli_ucx_worker *u = x->lane;
    if (!pli_list_is_empty(&x->ops) || !pli_list_is_empty(&x->stranded) || x->n_access > 0 ||
        (x->peer != NULL && !pli_ucx_part(x->peer))) {
        return false;
    }
    pli_ucx_conn_set_waiting(x, false);
    u->n_met -= x->peer != NULL;
    u->places[x->place] = NULL;
    u->n_spare++;
    l->ucx = NULL;
    free(x);
    return true;
}

static void leave_lane(struct pli_tcp_lane *net)
{
    struct pli_ucx_worker *u = net->ucx;
    for (struct pli_list *at = net->links.next; at != &net->links; at = at->next) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        free(l->ucx);
        l->ucx = NULL;
    }
    free_spare_ops(u);
    free(u->places);
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
    if (u->is_unsettled || (must_look && pli_ucx_quiesce_is_wanted())) {
        pli_ucx_quiesce_poll(u);
    }
    return n;
}

static bool is_steady(const struct pli_tcp_lane *net)
{
    return net->ucx->n_met > 0 && net->ucx->n_wait == 0;
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

static bool has_address(const struct pli_tcp_conn *l)
{
    return !l->ucx->has_hailed;
}

// After messages have gone over the connection the address follows the notes of that time.
static bool may_write_address(const struct pli_tcp_conn *l)
{
    return has_address(l) && (!l->ucx->is_again || pli_list_is_empty(&l->notes));
}

static const char *write_address(struct pli_tcp_conn *l, struct pli_frame *head)
{
    const struct pli_ucx_worker *u = l->ucx->lane;
    l->ucx->has_hailed = true;
    pli_ucx_conn_set_waiting(l->ucx, l->ucx->peer == NULL && !l->ucx->is_refused);
    head->word[0] = l->ucx->place;
    head->word[1] = l->ucx->key;
    head->word[2] = l->ucx->is_again;
    head->len = (uint32_t)u->n_address;
    return u->address;
}

// No UCX to this one. Each side decides for what it sends; both understand either way.
static void refuse(struct pli_tcp_conn *l, const char *why)
{
    if (l->ucx->lane->is_must) {
        pli_tcp_connect_lose(l, why);
        return;
    }
    pli_log(PLI_INFO, "messages to rank %u go over tcp: %s", l->conn->proc, why);
    l->ucx->is_refused = true;
    l->by_ucx = false;
    pli_ucx_conn_push(l);
    pli_tcp_conn_push(l);
}

static void connect(struct pli_tcp_conn *l, const struct pli_frame *f, const char *address)
{
    struct pli_ucx_conn *x = l->ucx;
    if (l->state >= PLI_TCP_CONN_LOST || !pli_ucx_quiesce_may_meet(l)) {
        return;
    }
    if (f->word[2] != 0) {
        pli_tcp_conn_note(l, PLI_MSG_MET, 0, 0, 0);
    }
    if (x->peer != NULL || x->is_refused) {
        return;
    }
    pli_ucx_conn_set_waiting(x, false);
    if (f->len == 0) {
        refuse(l, "it does not use UCX");
        return;
    }
    x->their_place = (uint32_t)f->word[0];
    x->their_key = f->word[1];
    if (pli_ucx_meet(x->lane->ucx, address, l, &x->peer) != PLI_OK) {
        refuse(l, pli_fail_take(NULL));
        return;
    }
    x->lane->n_met++;
    pli_ucx_conn_push(l);
}

static bool hear_bye(struct pli_tcp_conn *l, uint64_t n)
{
    l->ucx->has_bye = true;
    l->ucx->bye_at = n;
    return l->ucx->n_in >= n;
}

static uint64_t bye(struct pli_tcp_conn *l)
{
    if (!l->has_left) {
        flush_all(l);
    }
    return l->ucx->n_out;
}

static void finish(struct pli_tcp_conn *l)
{
    for (int i = 0; i < FINAL_LOOKS && !has_all(l->ucx) && l->ucx->lane->ucx != NULL; i++) {
        pli_ucx_progress(l->ucx->lane->ucx);
    }
}

// A way that broke although the other side lives and the connection stands.
static void check(struct pli_tcp_conn *l, uint64_t now)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x->is_broken && x->broken_ns == 0) {
        x->broken_ns = now;
    }
    if (x->is_broken && !l->has_left && now - x->broken_ns > GRACE_NS) {
        pli_tcp_connect_lose(l, x->why);
    }
}

static bool is_unsure(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x->is_refused || x->peer == NULL || x->is_broken || l->has_left || x->sure == x->said) {
        return false;
    }
    if (x->asked != x->said) {
        x->asked = x->said;
        pli_ucx_conn_note(l, PLI_MSG_SURE, x->said, 0, 0);
    }
    return true;
}

static bool is_finished(const struct pli_tcp_conn *l)
{
    const struct pli_ucx_conn *x = l->ucx;
    return x->peer == NULL || x->is_broken || has_all(x);
}

static bool forget(struct pli_tcp_conn *l)
{
    drop_notes(l);
    return l->ucx->n_access == 0;
}

static void unqueue(struct pli_tcp_conn *l, struct pli_request *r)
{
    if (pli_list_has(&l->net->ucx->streams, &r->link)) {
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
    .is_unsure = is_unsure,
    .is_behind = pli_ucx_quiesce_is_behind,
    .bye = bye,
    .hear_bye = hear_bye,
    .finish = finish,
    .is_finished = is_finished,
    .forget = forget,
    .check = check,
    .is_in_use = is_in_use,
    .unqueue = unqueue,
    .bury = bury,
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
    u->may_lend = !pli_freeze_is_open() && !pli_request_is_mortal;
    if (!u->may_lend) {
        pli_ucx_keep_apart(pli_request_is_mortal);
    }
    u->is_must = strcmp(pli_conf.net, "auto") != 0;
    pli_list_init(&u->streams);
    pli_list_init(&u->free);
    u->is_unsettled = pli_ucx_quiesce_is_wanted();
    enum pli_err err = u->is_unsettled ? PLI_OK : pli_ucx_conn_start_worker(u);
    if (err != PLI_OK) {
        const char *what = pli_fail_take(NULL);
        if (u->is_must) {
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
