// SPDX-License-Identifier: BSD-3-Clause
// Runs schedules, from any thread that polls the lane.
#include "coll/sched.h"
#include "coll/sched_run.h"

#include "coll/sched_priv.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/op.h"
#include "obj/status.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Note the first thing that went wrong. Context: lane locked.
static void note(struct pli_sched *s, const struct pli_request *r)
{
    bool is_wrong_size = (r->flags & PLI_REQ_SEND) == 0 && r->bytes != r->size;
    if (s->err == PLI_OK && (r->err != PLI_OK || is_wrong_size)) {
        s->err = r->err != PLI_OK ? (enum pli_err)r->err : PLI_ERR_TRUNC;
        s->got = r->bytes;
        s->want = r->size;
        s->from = r->source;
    }
}

// What is left is not begun where a child was withdrawn: the next round would take its memory, and
// the other side may still name that. Context: lane locked; the schedule waits, or its thread
// calls.
static void stop_if_failed(struct pli_sched *s)
{
    s->is_stopped = s->is_stopped || s->has_withdrawn || pli_err_is_news(s->err);
}

// Context: lane locked.
static void child_done(struct pli_request_child *c)
{
    struct child *child = (struct child *)c;
    struct pli_sched *s = child->sched;
    note(s, &c->r);
    s->has_withdrawn = s->has_withdrawn || (c->r.state & PLI_REQ_WITHDRAWN) != 0;
    int left = atomic_fetch_sub_explicit(&s->n_open, 1, memory_order_relaxed) - 1;
    bool is_over = s->waits_for == FOR_ALL ? left == 0 : s->waits_for == child - s->children;
    if (s->waits_for != FOR_NONE && is_over) {
        s->waits_for = FOR_NONE;
        stop_if_failed(s);
        pli_lane_defer(s->lane, &s->task);
    }
}

// Across MPI jobs no message reports a failure at one rank: what depends on it is sent empty, so
// that its receivers fail too instead of waiting, or going on with wrong data.
static bool has_no_data(struct pli_sched *s)
{
    if (__builtin_expect(!s->is_span, 1)) {
        return false;
    }
    pli_lock_take(&s->lane->lock);
    bool has_failed = s->err != PLI_OK;
    pli_lock_drop(&s->lane->lock);
    return has_failed;
}

static void begin_child(struct pli_sched *s, const struct step *p)
{
    struct child *c = &s->children[p->child];
    MPI_Count n_send = p->kind == K_SEND && has_no_data(s) ? 0 : p->n_in;
    atomic_fetch_add_explicit(&s->n_open, 1, memory_order_relaxed);
    uint16_t flag = p->is_rooted ? PLI_REQ_ROOTED : 0;
    enum pli_err err = p->kind == K_SEND
                           ? pli_p2p_begin_send(&c->c, p->in, n_send, p->in_type, p->peer, p->tag,
                                                p->comm, PLI_CHAN_COLL, flag)
                           : pli_p2p_begin_recv(&c->c, p->out, p->n_in, p->in_type, p->peer, p->tag,
                                                p->comm, PLI_CHAN_COLL, flag);
    if (err != PLI_OK) {
        pli_lock_take(&s->lane->lock);
        s->err = s->err == PLI_OK ? err : s->err;
        atomic_store_explicit(&c->c.r.is_done, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&s->n_open, 1, memory_order_relaxed);
        pli_lock_drop(&s->lane->lock);
    }
}

// Whether the wait is over; if not, the child that ends it calls us back.
static bool is_over(struct pli_sched *s, int what)
{
    pli_lock_take(&s->lane->lock);
    bool is = what == FOR_ALL ? atomic_load_explicit(&s->n_open, memory_order_relaxed) == 0
                              : pli_request_is_done(&s->children[what].c.r);
    s->waits_for = is ? FOR_NONE : what;
    stop_if_failed(s);
    pli_lock_drop(&s->lane->lock);
    return is;
}

static void finish(struct pli_sched *s)
{
    struct pli_lane *lane = s->lane;
    if (s->err != PLI_OK && s->on_error != NULL) { // no child is left that could change it
        s->on_error(s->on_error_arg, s->err);
    }
    pli_lock_take(&lane->lock);
    pli_request_complete(s->req, s->err); // s may be gone as soon as the lock is
    pli_lock_drop(&lane->lock);
}

static void go_on(struct pli_task *t)
{
    struct pli_sched *s = PLI_CONTAINER(t, struct pli_sched, task);
    while (s->at < s->n_step) {
        const struct step *p = &s->steps[s->at];
        if (__builtin_expect(s->is_stopped, 0) && s->at < s->n_step - 1) {
            s->at++; // only the last fence counts
            continue;
        }
        switch (p->kind) {
        case K_SEND:
        case K_RECV:
            s->at++; // before: the wait of a later step may be over while we begin this one
            begin_child(s, p);
            break;
        case K_COPY:
            s->at++;
            pli_cursor_copy(p->in, p->n_in, p->in_type, p->out, p->n_out, p->out_type);
            break;
        case K_REDUCE:
            s->at++;
            if (!has_no_data(s)) {
                pli_op_apply(p->op, p->in, p->out, p->n_in, p->in_type);
            }
            break;
        case K_WAIT:
        case K_FENCE:
            s->at++;
            if (!is_over(s, p->kind == K_WAIT ? p->child : FOR_ALL)) {
                return;
            }
            break;
        }
    }
    s->at = s->n_step + 1;
    finish(s);
}

// Once before the first run: children for all that talks.
static enum pli_err prepare(struct pli_sched *s, struct pli_comm *comm)
{
    pli_sched_fence(s);
    s->lane = comm->ep->lane;
    s->task.run = go_on;
    s->task.is_users = true; // reductions
    pli_list_init(&s->task.link);
    size_t n = (size_t)s->n_child_most;
    if (n > 0 && s->build_err == PLI_OK) {
        bool is_few = !s->is_lean && n <= FEW_CHILDREN;
        s->children = is_few ? s->few_children : pli_sched_take(s, n * sizeof *s->children);
        if (s->children == NULL) {
            pli_sched_no_memory(s);
        }
    }
    for (size_t i = 0; s->children != NULL && i < n; i++) {
        s->children[i].sched = s;
        s->children[i].c.done = child_done;
    }
    return s->build_err;
}

static void start(struct pli_sched *s)
{
    s->at = 0;
    s->err = PLI_OK;
    s->is_stopped = false;
    go_on(&s->task);
}

static enum pli_err explain(const struct pli_sched *s, const struct pli_comm *comm)
{
    if (s->err == PLI_ERR_TRUNC && s->is_span && s->got == 0) {
        return pli_fail(
            PLI_ERR_CONVERSION,
            "%s on %s: nothing came from rank %d where %llu bytes were expected: a value "
            "there or before does not fit external32, in which a long has 4 bytes, or "
            "the ranks' counts do not fit together",
            s->name, pli_comm_say(comm), s->from, (unsigned long long)s->want);
    }
    if (s->err == PLI_ERR_CONVERSION) {
        return pli_fail(
            PLI_ERR_CONVERSION,
            "%s on %s: a value does not fit external32, in which a long has 4 bytes, and "
            "not all clients of the IMPI job, or not its server, know of longs of 8",
            s->name, pli_comm_say(comm));
    }
    if (s->err == PLI_ERR_TRUNC) {
        return pli_fail(PLI_ERR_TRUNC,
                        "%s on %s: %llu bytes came from rank %d where %llu were expected; the "
                        "ranks' counts and datatypes do not fit together",
                        s->name, pli_comm_say(comm), (unsigned long long)s->got, s->from,
                        (unsigned long long)s->want);
    }
    if (pli_err_is_news(s->err)) {
        return pli_failure_explain(s->err, s->name, comm);
    }
    return s->err == PLI_OK ? PLI_OK
                            : pli_fail(s->err, "%s on %s failed: %s", s->name, pli_comm_say(comm),
                                       pli_err_text(s->err));
}

static enum pli_err request_start(struct pli_request *r)
{
    struct pli_sched *s = r->ext;
    if (s->has_withdrawn) { // on what will never work again
        s->err = (enum pli_err)r->err;
        return PLI_OK;
    }
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    r->err = PLI_OK;
    start(s);
    return PLI_OK;
}

static enum pli_err request_finish(struct pli_request *r, MPI_Status *status)
{
    pli_status_set_empty(status);
    return r->err == PLI_OK ? PLI_OK : explain(r->ext, r->comm);
}

static void request_clean(struct pli_request *r)
{
    pli_sched_destroy(r->ext);
}

// What numbers the operation among those of its communicator; 0: it talks on several.
static int number_of(const struct pli_sched *s, const struct pli_comm *comm)
{
    return s->is_span || comm->is_inter ? 0 : s->tag / MARKS + 1;
}

static const char *request_call(const struct pli_request *r, int *root, int *number)
{
    const struct pli_sched *s = r->ext;
    *root = s->root;
    *number = number_of(s, r->comm);
    return s->is_persistent ? pli_coll_kind_info[s->kind].function
                            : pli_coll_kind_info[s->kind].nonblocking;
}

static const struct pli_request_ops ops = {
    .name = "collective",
    .start = request_start,
    .cancel = pli_request_no_cancel,
    .finish = request_finish,
    .clean = request_clean,
    .call = request_call,
};

enum pli_err pli_sched_run(struct pli_sched *s, struct pli_comm *comm)
{
    enum pli_err err = prepare(s, comm);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_request r = { .ops = &ops, .lane = s->lane, .comm = comm };
    r.flags = PLI_REQ_STACK | PLI_REQ_NO_STATUS;
    r.ext = s;
    s->req = &r;
    start(s);
    struct pli_waiter w = { .lane = s->lane,
                            .comm = comm,
                            .call = pli_coll_kind_info[s->kind].function,
                            .has_root = s->root >= 0,
                            .peer = s->root,
                            .tag = number_of(s, comm) };
    w.is_far = comm->is_span;
    while (!pli_request_is_done(&r)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return s->err == PLI_OK ? PLI_OK : explain(s, comm);
}

enum pli_err pli_sched_begin(struct pli_sched *s, struct pli_comm *comm, struct pli_request **out)
{
    enum pli_err err = prepare(s, comm);
    if (err != PLI_OK) {
        return err;
    }
    pli_lock_take(&s->lane->lock);
    struct pli_request *r = pli_request_create(s->lane);
    pli_lock_drop(&s->lane->lock);
    if (r == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a request");
    }
    r->ops = &ops;
    r->comm = pli_comm_retain(comm);
    r->flags = PLI_REQ_NO_STATUS;
    r->ext = s;
    s->req = r;
    if (s->is_persistent) {
        r->flags |= PLI_REQ_PERSISTENT;
        atomic_store_explicit(&r->is_done, 1, memory_order_relaxed);
    } else {
        start(s);
        // A program that begins very many must still take in what the others send.
        pli_progress_once(r->lane);
    }
    *out = r;
    return PLI_OK;
}
