// SPDX-License-Identifier: BSD-3-Clause
#include "rma/rma_mail.h"

#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

static struct pli_lane *lane_of(const struct pli_win *w)
{
    return w->comm->ep->lane;
}

static const struct pli_request_ops op_ops = {
    .name = "one-sided access",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

// Context: lane locked.
static void finish(struct pli_rma_op *op)
{
    if (op->user != NULL) {
        pli_request_complete(op->user, op->err);
    } else if (op->err != PLI_OK) {
        atomic_store_explicit(&op->peer->fault, (int)op->err, memory_order_relaxed);
    }
    atomic_fetch_sub_explicit(&op->peer->n_open, 1, memory_order_release);
    pli_lane_stir(lane_of(op->win));
    free(op);
}

// What takes long, or other locks.
static void finish_later(struct pli_task *t)
{
    struct pli_rma_op *op = PLI_CONTAINER(t, struct pli_rma_op, task);
    struct pli_lane *lane = lane_of(op->win);
    if (op->packed != NULL) {
        struct pli_cursor c;
        pli_cursor_init(&c, op->buf, op->count, op->type);
        if (op->err == PLI_OK) {
            pli_cursor_unpack(&c, op->packed, op->bytes);
        }
        free(op->packed);
    }
    pli_datatype_release(op->type);
    pli_lock_take(&lane->lock);
    finish(op);
    pli_lock_drop(&lane->lock);
}

// One part less. Context: lane locked.
static void drop(struct pli_rma_op *op)
{
    if (--op->n_left > 0) {
        return;
    }
    if (op->type != NULL) {
        pli_lane_defer(lane_of(op->win), &op->task);
    } else {
        finish(op);
    }
}

// Context: lane locked.
static void done(struct pli_request_child *c)
{
    struct pli_rma_mail *m = (struct pli_rma_mail *)c;
    struct pli_win *w = m->win;
    struct pli_win_peer *peer = m->peer;
    struct pli_rma_op *op = m->op;
    enum pli_err err = (enum pli_err)c->r.err;
    // An owner that may not do what was asked answers with nothing.
    if (err == PLI_OK && (c->r.flags & PLI_REQ_SEND) == 0 && c->r.bytes < c->r.size) {
        err = PLI_ERR_RMA_RANGE;
    }
    if ((c->r.state & PLI_REQ_GHOST) == 0) { // else the other side may still name it
        free(m);
    }
    if (op != NULL) {
        op->err = op->err == PLI_OK ? err : op->err;
        drop(op);
    } else if (err != PLI_OK) {
        atomic_store_explicit(&peer->fault, (int)err, memory_order_relaxed);
    }
    struct pli_lane *lane = lane_of(w);
    if (atomic_fetch_sub_explicit(&w->n_out, 1, memory_order_release) == 1) {
        pli_lane_stir(lane);
    }
}

struct pli_rma_mail *pli_rma_mail_new(struct pli_win *w, enum pli_rma_kind kind, size_t len)
{
    struct pli_rma_mail *m = malloc(sizeof *m + len);
    if (m == NULL) {
        pli_fail(PLI_ERR_NOMEM, "no memory for a message of %zu bytes", len);
        return NULL;
    }
    m->child.done = done;
    m->win = w;
    m->op = NULL;
    m->msg = (struct pli_rma_msg){ .kind = (uint8_t)kind };
    return m;
}

// It could not be begun.
static enum pli_err undo(struct pli_rma_mail *m, enum pli_err err)
{
    struct pli_lane *lane = lane_of(m->win);
    atomic_fetch_sub_explicit(&m->win->n_out, 1, memory_order_relaxed);
    if (m->op != NULL) {
        pli_lock_take(&lane->lock);
        drop(m->op); // whoever began it still has a part
        pli_lock_drop(&lane->lock);
    }
    free(m);
    return err;
}

enum pli_err pli_rma_mail_send_data(struct pli_rma_mail *m, int to, uint32_t tag, const void *buf,
                                    MPI_Count count, struct pli_datatype *type)
{
    atomic_fetch_add_explicit(&m->win->n_out, 1, memory_order_relaxed);
    m->peer = &m->win->peers[to];
    enum pli_err err =
        pli_p2p_begin_send(&m->child, buf, count, type, to, (int)tag, m->win->comm, PLI_CHAN_P2P);
    return err == PLI_OK ? PLI_OK : undo(m, err);
}

enum pli_err pli_rma_mail_send(struct pli_rma_mail *m, int to, size_t len)
{
    return pli_rma_mail_send_data(m, to, PLI_RMA_TAG_ASK, &m->msg, (MPI_Count)(sizeof m->msg + len),
                                  pli_datatype_basic(MPI_BYTE));
}

enum pli_err pli_rma_mail_take(struct pli_rma_mail *m, int from, uint32_t tag, void *buf,
                               MPI_Count count, struct pli_datatype *type)
{
    atomic_fetch_add_explicit(&m->win->n_out, 1, memory_order_relaxed);
    m->peer = &m->win->peers[from];
    enum pli_err err =
        pli_p2p_begin_recv(&m->child, buf, count, type, from, (int)tag, m->win->comm, PLI_CHAN_P2P);
    return err == PLI_OK ? PLI_OK : undo(m, err);
}

struct pli_datatype *pli_rma_mail_byte(void)
{
    return pli_datatype_basic(MPI_BYTE);
}

uint32_t pli_rma_mail_tag(struct pli_win *w)
{
    uint32_t n = atomic_fetch_add_explicit(&w->next_tag, 1, memory_order_relaxed);
    return n % (PLI_RMA_TAG_DATA - PLI_RMA_TAG_FIRST) + PLI_RMA_TAG_FIRST;
}

struct pli_rma_op *pli_rma_mail_begin(struct pli_win *w, int member, bool want_request)
{
    struct pli_lane *lane = lane_of(w);
    struct pli_rma_op *op = calloc(1, sizeof *op);
    if (op != NULL && want_request) {
        pli_lock_take(&lane->lock);
        op->user = pli_request_create(lane);
        if (op->user != NULL) {
            op->user->comm = pli_comm_retain(w->comm);
            op->user->ops = &op_ops;
            op->user->flags = PLI_REQ_NO_STATUS;
        }
        pli_lock_drop(&lane->lock);
    }
    if (op == NULL || (want_request && op->user == NULL)) {
        free(op);
        pli_fail(PLI_ERR_NOMEM, "no memory for an access to rank %d", member);
        return NULL;
    }
    op->win = w;
    op->peer = &w->peers[member];
    op->n_left = 1;
    op->task.run = finish_later;
    atomic_fetch_add_explicit(&op->peer->n_open, 1, memory_order_relaxed);
    return op;
}

void pli_rma_mail_add(struct pli_rma_op *op, struct pli_rma_mail *m)
{
    struct pli_lane *lane = lane_of(op->win);
    pli_lock_take(&lane->lock);
    op->n_left++;
    pli_lock_drop(&lane->lock);
    m->op = op;
}

enum pli_err pli_rma_mail_end(struct pli_rma_op *op, enum pli_err err, struct pli_request **out)
{
    struct pli_lane *lane = lane_of(op->win);
    struct pli_request *user = op->user;
    pli_lock_take(&lane->lock);
    op->err = op->err == PLI_OK ? err : op->err;
    drop(op);
    bool has_task = !pli_list_is_empty(&lane->tasks);
    pli_lock_drop(&lane->lock);
    if (has_task) { // others may wait for it
        pli_progress_once(lane);
    }
    if (out != NULL && err == PLI_OK) {
        *out = user;
    } else if (user != NULL) {
        pli_request_forget(user);
    }
    return err;
}

void pli_rma_mail_room(struct pli_win *w, uint32_t most)
{
    struct pli_waiter wait = { .lane = lane_of(w), .comm = w->comm, .call = "one-sided access" };
    if (atomic_load_explicit(&w->n_out, memory_order_acquire) <= most) {
        return;
    }
    while (atomic_load_explicit(&w->n_out, memory_order_acquire) > most) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

void pli_rma_mail_settle(struct pli_win *w, int member, const char *call)
{
    struct pli_waiter wait = { .lane = lane_of(w), .comm = w->comm, .call = call, .peer = member };
    _Atomic uint32_t *n = &w->peers[member].n_open;
    if (atomic_load_explicit(n, memory_order_acquire) == 0) {
        return;
    }
    while (atomic_load_explicit(n, memory_order_acquire) > 0) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

enum pli_err pli_rma_mail_ask(struct pli_win *w, int to, enum pli_rma_kind kind, int op,
                              struct pli_rma_question *q)
{
    struct pli_rma_mail *m = pli_rma_mail_new(w, kind, 0);
    if (m == NULL) {
        return PLI_ERR_NOMEM;
    }
    m->msg.op = (uint8_t)op;
    m->msg.tag = pli_rma_mail_tag(w);
    m->msg.bytes = w->peers[to].n_lost;
    q->reply = (struct pli_rma_reply){ PLI_OK, w->peers[to].n_lost, 0 };
    enum pli_err err = pli_p2p_irecv_on(&q->reply, sizeof q->reply, pli_datatype_basic(MPI_BYTE),
                                        to, (int)m->msg.tag, w->comm, PLI_CHAN_P2P, &q->req);
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    err = pli_rma_mail_send(m, to, 0);
    if (err != PLI_OK) {
        q->req->ops->cancel(q->req);
        pli_request_forget(q->req);
    }
    return err;
}

enum pli_err pli_rma_mail_hear(int from, struct pli_rma_question *q)
{
    MPI_Status status;
    bool is_gone;
    pli_progress_wait(q->req);
    enum pli_err err = pli_request_report(q->req, &status, &is_gone);
    if (err == PLI_OK && q->reply.err != PLI_OK) {
        err = pli_fail((enum pli_err)q->reply.err, "an access to rank %d was refused there: %s",
                       from, pli_err_text((enum pli_err)q->reply.err));
    }
    return err;
}

enum pli_err pli_rma_mail_call(struct pli_win *w, int to, enum pli_rma_kind kind, int op)
{
    struct pli_rma_question q;
    enum pli_err err = pli_rma_mail_ask(w, to, kind, op, &q);
    return err == PLI_OK ? pli_rma_mail_hear(to, &q) : err;
}
