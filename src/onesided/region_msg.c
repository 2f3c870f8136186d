// SPDX-License-Identifier: BSD-3-Clause
// Sends the messages of one-sided access and ends the operations they are parts of.
// A message lives in memory of its own until it is sent, so that its sender goes on at once.
#include "onesided/region_msg.h"

#include "base/cpu.h"
#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/impi_span.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "onesided/region_priv.h"

#include <stdlib.h>
#include <string.h>

struct pli_lane *pli_region_msg_lane(const struct pli_region *r)
{
    return r->comm->ep->lane;
}

struct pli_datatype *pli_region_msg_byte(void)
{
    return pli_datatype_basic(MPI_BYTE);
}

static const struct pli_request_ops op_ops = {
    .name = "one-sided access",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

// Context: lane locked.
static void finish(struct pli_region_access *op)
{
    if (op->user != NULL) {
        pli_request_complete(op->user, op->err);
    } else if (op->err != PLI_OK) {
        atomic_store_explicit(&op->member->fault, (int)op->err, memory_order_relaxed);
    }
    atomic_fetch_sub_explicit(&op->member->n_open, 1, memory_order_release);
    pli_lane_wake(pli_region_msg_lane(op->region));
    free(op);
}

// What takes long, or other locks.
static void finish_later(struct pli_task *t)
{
    struct pli_region_access *op = PLI_CONTAINER(t, struct pli_region_access, task);
    struct pli_lane *lane = pli_region_msg_lane(op->region);
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
static void end_part(struct pli_region_access *op)
{
    if (--op->n_left > 0) {
        return;
    }
    if (op->type != NULL) {
        pli_lane_defer(pli_region_msg_lane(op->region), &op->task);
    } else {
        finish(op);
    }
}

void pli_region_msg_free(struct pli_request_child *c)
{
    static _Atomic(struct pli_list *) kept; // sanitizers find them here
    if (c == NULL || (c->r.state & PLI_REQ_WITHDRAWN) == 0) {
        free(c);
        return;
    }
    struct pli_list *link = &c->r.link; // in no list any more
    link->next = atomic_load_explicit(&kept, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&kept, &link->next, link, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

// Context: lane locked.
static void done(struct pli_request_child *c)
{
    struct pli_region_part *m = (struct pli_region_part *)c;
    struct pli_region *r = m->region;
    struct pli_region_member *member = m->member;
    struct pli_region_access *op = m->op;
    enum pli_err err = (enum pli_err)c->r.err;
    // An owner that may not do what was asked answers with nothing.
    if (err == PLI_OK && (c->r.flags & PLI_REQ_SEND) == 0 && c->r.bytes < c->r.size) {
        err = PLI_ERR_RMA_RANGE;
    }
    pli_region_msg_free(c);
    if (op != NULL) {
        op->err = op->err == PLI_OK ? err : op->err;
        end_part(op);
    } else if (err != PLI_OK) {
        atomic_store_explicit(&member->fault, (int)err, memory_order_relaxed);
    }
    struct pli_lane *lane = pli_region_msg_lane(r);
    if (atomic_fetch_sub_explicit(&r->n_out, 1, memory_order_release) == 1) {
        pli_lane_wake(lane);
    }
}

struct pli_region_part *pli_region_msg_new(struct pli_region *r, enum pli_region_kind kind,
                                           size_t len)
{
    struct pli_region_part *m = malloc(sizeof *m + len);
    if (m == NULL) {
        pli_fail(PLI_ERR_NOMEM, "no memory for a message of %zu bytes", len);
        return NULL;
    }
    m->child.done = done;
    m->region = r;
    m->op = NULL;
    m->msg = (struct pli_region_msg){ .kind = (uint8_t)kind };
    return m;
}

void pli_region_msg_blocks(struct pli_region_part *m, const struct pli_region_block *blocks, int n)
{
    m->msg.n_block = (uint16_t)n;
    memcpy(m->msg.data, blocks, (size_t)n * sizeof *blocks);
}

// It could not be begun.
static enum pli_err undo(struct pli_region_part *m, enum pli_err err)
{
    struct pli_lane *lane = pli_region_msg_lane(m->region);
    atomic_fetch_sub_explicit(&m->region->n_out, 1, memory_order_relaxed);
    if (m->op != NULL) {
        pli_lock_take(&lane->lock);
        end_part(m->op); // its beginner still has a part
        pli_lock_drop(&lane->lock);
    }
    free(m);
    return err;
}

enum pli_err pli_region_msg_send_data(struct pli_region_part *m, int to, uint32_t tag,
                                      const void *buf, MPI_Count count, struct pli_datatype *type)
{
    struct pli_region *r = m->region;
    atomic_fetch_add_explicit(&r->n_out, 1, memory_order_relaxed);
    m->member = &r->members[to];
    enum pli_err err =
        pli_p2p_begin_send(&m->child, buf, count, type, to, (int)tag, r->comm, PLI_CHAN_P2P, 0);
    return err == PLI_OK ? PLI_OK : undo(m, err);
}

// Whether nothing tells the sender that the message was dealt with.
static bool needs_flush(const struct pli_region_msg *m)
{
    switch (m->kind) {
    case PLI_REGION_MSG_PUT:
    case PLI_REGION_MSG_PUT_LARGE:
    case PLI_REGION_MSG_SET:
        return true;
    default:
        return m->tag == 0 && (m->kind == PLI_REGION_MSG_APPLY || m->kind == PLI_REGION_MSG_WORD);
    }
}

enum pli_err pli_region_msg_send(struct pli_region_part *m, int to, size_t len)
{
    struct pli_region_member *member = &m->region->members[to];
    bool is_counted = needs_flush(&m->msg);
    enum pli_err err =
        pli_region_msg_send_data(m, to, PLI_REGION_TAG_ASK, &m->msg,
                                 (MPI_Count)(sizeof m->msg + len), pli_region_msg_byte());
    // Afterwards: the flush of another thread, whose question went out before, must not count it.
    if (is_counted) {
        atomic_fetch_add_explicit(&member->sent, 1, memory_order_relaxed);
    }
    return err;
}

enum pli_err pli_region_msg_receive(struct pli_region_part *m, int from, uint32_t tag, void *buf,
                                    MPI_Count count, struct pli_datatype *type)
{
    struct pli_region *r = m->region;
    atomic_fetch_add_explicit(&r->n_out, 1, memory_order_relaxed);
    m->member = &r->members[from];
    enum pli_err err =
        pli_p2p_begin_recv(&m->child, buf, count, type, from, (int)tag, r->comm, PLI_CHAN_P2P, 0);
    return err == PLI_OK ? PLI_OK : undo(m, err);
}

struct pli_request *pli_region_msg_plain(struct pli_region_part *m, int to, size_t bytes)
{
    struct pli_region *r = m->region;
    struct pli_request *req = &m->child.r;
    memset(req, 0, sizeof *req);
    req->flags = PLI_REQ_STACK | PLI_REQ_CHILD | PLI_REQ_SEND;
    req->ops = &op_ops;
    req->lane = pli_region_msg_lane(r);
    req->comm = r->comm;
    req->size = req->bytes = bytes;
    m->member = &r->members[to];
    atomic_fetch_add_explicit(&r->n_out, 1, memory_order_relaxed);
    return req;
}

enum pli_err pli_region_msg_notify(struct pli_region *r, int to, uint32_t tag)
{
    if (pli_p2p_notify_now(pli_region_msg_byte(), to, (int)tag, r->comm, PLI_CHAN_P2P)) {
        return PLI_OK;
    }
    struct pli_region_part *m = pli_region_msg_new(r, 0, 0);
    return m == NULL ? PLI_ERR_NOMEM
                     : pli_region_msg_send_data(m, to, tag, &m->msg, 0, pli_region_msg_byte());
}

enum pli_err pli_region_msg_await(struct pli_region *r, int from, uint32_t tag,
                                  struct pli_request **out)
{
    static char nowhere;
    return pli_p2p_irecv_on(&nowhere, 0, pli_region_msg_byte(), from, (int)tag, r->comm,
                            PLI_CHAN_P2P, out);
}

uint32_t pli_region_msg_tag(struct pli_region *r)
{
    uint32_t n = atomic_fetch_add_explicit(&r->next_tag, 1, memory_order_relaxed);
    return n % (r->data_tag - PLI_REGION_TAG_FIRST) + PLI_REGION_TAG_FIRST;
}

uint32_t pli_region_msg_data_tag(const struct pli_comm *c)
{
    return c->is_span ? ((uint32_t)pli_impi_span_tag_ub(c) + 1) / 2 : PLI_REGION_TAG_DATA;
}

struct pli_region_access *pli_region_msg_begin(struct pli_region *r, int member, bool want_request)
{
    struct pli_lane *lane = pli_region_msg_lane(r);
    struct pli_region_access *op = calloc(1, sizeof *op);
    if (op != NULL && want_request) {
        pli_lock_take(&lane->lock);
        op->user = pli_request_create(lane);
        if (op->user != NULL) {
            op->user->comm = pli_comm_retain(r->comm);
            op->user->ops = &op_ops;
            op->user->flags = PLI_REQ_NO_STATUS;
        }
        pli_lock_drop(&lane->lock);
    }
    if (op == NULL || (want_request && op->user == NULL)) {
        free(op);
        pli_fail(PLI_ERR_NOMEM, "no memory for an access to member %d", member);
        return NULL;
    }
    op->region = r;
    op->member = &r->members[member];
    op->n_left = 1;
    op->task.run = finish_later;
    atomic_fetch_add_explicit(&op->member->n_open, 1, memory_order_relaxed);
    return op;
}

void pli_region_msg_add(struct pli_region_access *op, struct pli_region_part *m)
{
    struct pli_lane *lane = pli_region_msg_lane(op->region);
    pli_lock_take(&lane->lock);
    op->n_left++;
    pli_lock_drop(&lane->lock);
    m->op = op;
}

enum pli_err pli_region_msg_end(struct pli_region_access *op, enum pli_err err,
                                struct pli_request **out)
{
    struct pli_lane *lane = pli_region_msg_lane(op->region);
    struct pli_request *user = op->user;
    pli_lock_take(&lane->lock);
    op->err = op->err == PLI_OK ? err : op->err;
    end_part(op);
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

void pli_region_msg_throttle(struct pli_region *r, uint32_t most)
{
    struct pli_waiter wait = { .lane = pli_region_msg_lane(r),
                               .comm = r->comm,
                               .call = "one-sided access" };
    if (atomic_load_explicit(&r->n_out, memory_order_acquire) <= most) {
        return;
    }
    while (atomic_load_explicit(&r->n_out, memory_order_acquire) > most) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

void pli_region_msg_complete_local(struct pli_region *r, int member, const char *call)
{
    _Atomic uint32_t *n = &r->members[member].n_open;
    if (atomic_load_explicit(n, memory_order_acquire) == 0) {
        return;
    }
    struct pli_waiter wait = {
        .lane = pli_region_msg_lane(r), .comm = r->comm, .call = call, .peer = member
    };
    while (atomic_load_explicit(n, memory_order_acquire) > 0) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

enum pli_err pli_region_msg_finish(struct pli_request *req, size_t *len_out)
{
    MPI_Status status;
    bool is_gone;
    pli_progress_wait(req);
    size_t len = req->bytes;
    enum pli_err err = pli_request_report(req, &status, &is_gone);
    if (err == PLI_OK && len_out != NULL) {
        *len_out = len;
    }
    return err;
}

enum pli_err pli_region_msg_ask(struct pli_region *r, int to, struct pli_region_part *m, size_t len,
                                void *answer, size_t room, struct pli_region_question *q)
{
    static char nowhere;
    q->member = &r->members[to];
    q->sent = atomic_load_explicit(&q->member->sent, memory_order_relaxed);
    m->msg.tag = pli_region_msg_tag(r);
    enum pli_err err =
        pli_p2p_irecv_on(room == 0 ? &nowhere : answer, (MPI_Count)room, pli_region_msg_byte(), to,
                         (int)m->msg.tag, r->comm, PLI_CHAN_P2P, &q->req);
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    err = pli_region_msg_send(m, to, len);
    if (err != PLI_OK) {
        q->req->ops->cancel(q->req);
        pli_request_forget(q->req);
    }
    return err;
}

// A failure counts as an answer: the other side is gone, and its death is reported.
enum pli_err pli_region_msg_wait_answer(struct pli_region_question *q, size_t *len_out)
{
    enum pli_err err = pli_region_msg_finish(q->req, len_out);
    uint64_t sure = atomic_load_explicit(&q->member->sure, memory_order_relaxed);
    while (sure < q->sent &&
           !atomic_compare_exchange_weak_explicit(&q->member->sure, &sure, q->sent,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return err;
}

void pli_region_msg_order(struct pli_region *r)
{
#if PLI_IS_TSAN
    atomic_fetch_add_explicit(&r->n_order, 1, memory_order_acq_rel);
#else
    (void)r;
#endif
}
