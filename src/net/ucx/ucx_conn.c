// SPDX-License-Identifier: BSD-3-Clause
// Sending by UCX. It keeps the order of messages and queues what it cannot send at once; their data
// stays in the user's buffer until it says so.
#include "net/ucx/ucx_conn.h"

#include "base/conf.h"
#include "base/log.h"
#include "net/tcp/tcp_conn.h"
#include "msg/request.h"
#include "msg/protocol.h"
#include "msg/msg_wire.h"
#include "net/ucx/ucx.h"
#include "obj/datatype.h"

#include <stdlib.h>

enum {
    PIECE = 65536, // bytes of a message in pieces
    PIECES = 8,    // in a row, so that others get their turn
    LAST_LOOKS = 100000
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

static void end_good(struct op *o)
{
    struct pli_tcp_conn *l = o->link;
    struct pli_request *r = o->req;
    if (r == NULL) {
        return;
    }
    if (o->is_fetch) {
        pli_ucx_conn_took(l, r, o->n);
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

// Requests whose tickets are out end with the link; others wait for its end with those that were
// not sent.
static void strand(struct op *o)
{
    struct pli_tcp_conn *l = o->link;
    if (o->is_access) {
        pli_list_push(&l->ucx->stranded, &o->req->link);
    } else if (!o->is_fetch && o->head.frame.kind == PLI_MSG_EAGER && o->req != NULL) {
        pli_list_push(&l->conn->pending, &o->req->link);
    }
}

static void end_bad(struct op *o, const char *why)
{
    struct pli_tcp_conn *l = o->link;
    strand(o);
    note_broken(l, why);
    if (l->is_gone && !pli_tcp_conn_forget(l)) {
        pli_tcp_conn_lose(l, "it has left MPI");
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
        pli_tcp_fail(l, false);
    }
}

// UCX cannot be told to let go of memory that it reads or writes for a side that lives; that ends
// soon, as the other side moves on.
bool pli_ucx_conn_doom(struct pli_tcp_conn *l, struct pli_request *r)
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
    if (pli_tcp_conn_address(l, r, &o->head.frame) && r->size > 0) {
        n = r->size;
        data = pli_tcp_conn_data(r, 0, n, &o->bounce);
        o->head.frame.len = (uint32_t)n;
    }
    post(o, data, n, false);
}

void pli_ucx_conn_start(struct pli_request *r)
{
    struct pli_tcp_conn *l = r->conn->link;
    if (is_open(l) && pli_list_is_empty(&l->conn->pending) && !pli_ucx_quiesce_is_due(l->net)) {
        issue(l, r);
        return;
    }
    pli_list_push(&l->conn->pending, &r->link);
    if (l->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_conn_dial(l);
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
        pli_tcp_conn_dial(l);
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
            pli_tcp_conn_say(l, n->kind, n->word[0], n->word[1], n->word[2]);
        }
        free(n);
    }
    while (l->by_ucx && is_open(l) && !pli_list_is_empty(&l->conn->pending)) {
        struct pli_request *r = PLI_CONTAINER(l->conn->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        issue(l, r);
    }
}

void pli_ucx_conn_hush(struct pli_tcp_conn *l)
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

void pli_ucx_conn_stream(struct pli_tcp_conn *l, struct pli_request *send, bool in_pieces)
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

int pli_ucx_conn_pump(struct pli_ucx_worker *u)
{
    int done = 0;
    while (done < PIECES && !pli_list_is_empty(&u->streams)) {
        struct pli_request *send = PLI_CONTAINER(u->streams.next, struct pli_request, link);
        pli_list_remove(&send->link);
        if (is_open(send->conn->link)) {
            uint64_t left = send->bytes - send->moved;
            issue_data(send->conn->link, send, left < PIECE ? left : PIECE, false);
        }
        done++;
    }
    return done;
}

void pli_ucx_conn_flush(struct pli_tcp_conn *l)
{
    if (is_open(l)) {
        struct op *o = take_op(l, NULL);
        o->ucx.done = op_done;
        o->head.frame.kind = PLI_MSG_NONE;
        go_on(o, pli_ucx_flush(l->ucx->peer, &o->ucx));
    }
}

bool pli_ucx_conn_has_unsent(const struct pli_tcp_conn *l)
{
    return !pli_list_is_empty(&l->ucx->ops) || !pli_list_is_empty(&l->ucx->notes) ||
           (!l->ucx->is_refused && !pli_list_is_empty(&l->conn->pending));
}

void pli_ucx_conn_fetch(struct pli_tcp_conn *l, struct pli_request *recv, void *offer, uint64_t n)
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

void pli_ucx_conn_took(struct pli_tcp_conn *l, struct pli_request *recv, uint64_t n)
{
    uint64_t want = recv->bytes < recv->size ? recv->bytes : recv->size;
    recv->moved += n;
    if (recv->moved == want) {
        l->n_asked--;
        pli_reqid_end(&l->net->tickets, recv->item.seq);
        pli_rndv_end_receive(recv);
    }
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

void pli_ucx_conn_forget(struct pli_ucx_worker *u)
{
    while (!pli_list_is_empty(&u->free)) {
        struct op *o = PLI_CONTAINER(u->free.next, struct op, at);
        pli_list_remove(&o->at);
        free(o);
    }
}

// UCX must not touch the buffers of requests that have failed.
void pli_ucx_conn_bury(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *u = l->ucx;
    u->is_broken = true;
    pli_ucx_worker_wait(u, false);
    pli_ucx_conn_hush(l);
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
