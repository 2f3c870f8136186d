// SPDX-License-Identifier: BSD-3-Clause
// Receives messages of other members and serves their accesses.
// One receive is posted, and posted again when its message is dealt with, so that messages of one
// member are dealt with in order.
#include "onesided/region_serve.h"

#include "base/log.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/progress_thread.h"
#include "obj/comm.h"
#include "onesided/region_apply.h"
#include "onesided/region_msg.h"
#include "onesided/region_priv.h"
#include "onesided/region_type.h"
#include "onesided/region_ucx.h"

#include <stdlib.h>
#include <string.h>

enum {
    MSG = sizeof(struct pli_region_msg) + PLI_REGION_N_BLOCK * sizeof(struct pli_region_block) +
          PLI_REGION_ROOM
};

_Static_assert(PLI_REGION_REFUSED == (int)PLI_ERR_RMA_RANGE, "libimpi answers so");

struct receive {
    struct pli_request_child child; // first
    struct pli_region_server *server;
};

struct pli_region_server {
    struct pli_region *region;
    struct receive *recv; // the same one each time, unless it was withdrawn
    struct pli_task task;
    _Atomic uint32_t n_posted, n_arrived; // receives
    bool is_receiving_data;               // the data of a large put, straight to its place
    bool is_over;
    bool has_thread;     // the progress thread serves it
    _Atomic int *faults; // by member: enum pli_err of something it asked for
    union {
        struct pli_region_msg msg;
        unsigned char bytes[MSG];
    } in;
};

// Answer with bytes, copied or not: NULL, they are in the mail.
static void answer(struct pli_region *r, struct pli_region_part *m, int to, uint32_t tag,
                   const void *data, size_t len)
{
    atomic_thread_fence(memory_order_seq_cst); // the answer means that all before it is done
    enum pli_err err = m == NULL
                           ? PLI_ERR_NOMEM
                           : pli_region_msg_send_data(m, to, tag, data != NULL ? data : m->msg.data,
                                                      (MPI_Count)len, pli_region_msg_byte());
    if (err != PLI_OK) {
        const char *why = pli_fail_take(NULL);
        pli_log(pli_err_is_news(err) ? PLI_INFO : PLI_ERROR, "%s: cannot answer rank %d: %s",
                pli_comm_say(r->comm), to, why);
    }
}

void pli_region_serve_answer(struct pli_region *r, int to, uint32_t tag, const void *data,
                             size_t len)
{
    struct pli_region_part *m = pli_region_msg_new(r, 0, len);
    if (m != NULL && len > 0) {
        memcpy(m->msg.data, data, len);
    }
    answer(r, m, to, tag, NULL, len);
}

enum pli_err pli_region_serve_fault(struct pli_region *r, int origin)
{
    return (enum pli_err)atomic_exchange_explicit(&r->server->faults[origin], PLI_OK,
                                                  memory_order_relaxed);
}

// Whether this member has these bytes for others.
static bool has(const struct pli_region *r, int64_t at, uint64_t len)
{
    if (r->plan.has != NULL) {
        return r->plan.has(r->plan.arg, at, len);
    }
    return at >= 0 && (uint64_t)at <= r->plan.size && len <= r->plan.size - (uint64_t)at;
}

// Whether all blocks lie in this member's memory.
static bool is_inside(const struct pli_region *r, const struct pli_region_block *b, int n,
                      size_t gap)
{
    for (int i = 0; i < n; i++) {
        int64_t first = b[i].at, span, last;
        uint64_t len = b[i].len + gap;
        if (b[i].n == 0 || b[i].n > INT64_MAX ||
            __builtin_mul_overflow((int64_t)b[i].n - 1, b[i].step, &span) ||
            __builtin_add_overflow(first, span, &last)) {
            return false;
        }
        int64_t low = first < last ? first : last;
        uint64_t all = (uint64_t)(first < last ? last - first : first - last) + len;
        if (!has(r, low, all)) {
            return false;
        }
    }
    return true;
}

// Context: lane locked, so the work itself is left for later.
static void arrived(struct pli_request_child *c)
{
    struct pli_region_server *s = ((struct receive *)c)->server;
    atomic_fetch_add_explicit(&s->n_arrived, 1, memory_order_release);
    if (!s->is_over) {
        pli_lane_defer(c->r.lane, &s->task);
    }
}

static bool is_withdrawn(const struct pli_region_server *s)
{
    return s->recv != NULL && (s->recv->child.r.state & PLI_REQ_WITHDRAWN) != 0;
}

static void drop_receive(struct pli_region_server *s)
{
    pli_region_msg_free(s->recv != NULL ? &s->recv->child : NULL);
}

// One that was withdrawn cannot be used again: its sender may still name it.
static bool make_receive(struct pli_region_server *s)
{
    if (s->recv != NULL && !is_withdrawn(s)) {
        return true;
    }
    struct receive *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return false;
    }
    drop_receive(s);
    fresh->child.done = arrived;
    fresh->server = s;
    s->recv = fresh;
    return true;
}

static enum pli_err receive(struct pli_region_server *s, void *to, uint64_t len, int source,
                            uint32_t tag)
{
    if (!make_receive(s)) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to serve one-sided access");
    }
    enum pli_err err =
        pli_p2p_begin_recv(&s->recv->child, to, (MPI_Count)len, pli_region_msg_byte(), source,
                           (int)tag, s->region->comm, PLI_CHAN_P2P, 0);
    if (err == PLI_OK) {
        atomic_fetch_add_explicit(&s->n_posted, 1, memory_order_release);
    }
    return err;
}

static enum pli_err wait_for_next(struct pli_region_server *s)
{
    return receive(s, &s->in, sizeof s->in, MPI_ANY_SOURCE, PLI_REGION_TAG_ASK);
}

// What is received when a request was served: the next one, or the data of a large put, for which
// other requests wait. It is begun last of all: another thread may have it the next moment, and
// serve it.
struct next {
    char *data; // of a put; NULL: a request
    uint64_t bytes;
    int origin;
    uint32_t tag;
};

// False: nothing was begun.
static bool receive_data(struct pli_region_server *s, const struct next *n)
{
    s->is_receiving_data = true;
    enum pli_err err = receive(s, n->data, n->bytes, n->origin, n->tag);
    if (err != PLI_OK) {
        pli_log(pli_err_is_news(err) ? PLI_INFO : PLI_ERROR,
                "%s: cannot receive what rank %d puts here: %s", pli_comm_say(s->region->comm),
                n->origin, pli_fail_take(NULL));
    }
    return err == PLI_OK;
}

static void receive_next(struct pli_region_server *s, const struct next *n)
{
    if (n->data != NULL && receive_data(s, n)) {
        return; // another thread may have it now
    }
    s->is_receiving_data = false;
    if (wait_for_next(s) != PLI_OK) {
        pli_log(PLI_ERROR, "%s: no more requests can be served: %s", pli_comm_say(s->region->comm),
                pli_fail_take(NULL));
    }
}

static void apply_word(const struct pli_region_msg *m, void *at, const char *data, char *out)
{
    uint64_t a, b, old = 0;
    memcpy(&a, data, sizeof a);
    memcpy(&b, data + sizeof a, sizeof b);
    pli_region_type_apply(at, (enum pli_region_type)m->elem.number, (enum pli_region_op)m->op, &a,
                          &b, &old);
    if (out != NULL) {
        memcpy(out, &old, m->bytes);
    }
}

static void move(struct pli_region_server *s, int origin, const struct pli_region_msg *m,
                 struct next *next)
{
    struct pli_region *r = s->region;
    const struct pli_region_block *blocks = (const struct pli_region_block *)(const void *)m->data;
    const char *data = (const char *)(blocks + m->n_block);
    struct pli_region_change c = { (uintptr_t)r->plan.base, blocks, m->n_block, m->elem, m->op };
    // More than a copy is worth goes out of the memory itself: the reader waits for it before it
    // unlocks.
    bool is_in_place = m->kind == PLI_REGION_MSG_GET && m->n_block == 1 && blocks[0].n == 1 &&
                       m->bytes > PLI_REGION_COPY;
    char *place = (char *)(c.base + (uintptr_t)blocks[0].at);
    struct pli_region_part *mail = NULL;
    if (m->tag != 0 && m->kind != PLI_REGION_MSG_PUT_LARGE &&
        (mail = pli_region_msg_new(r, 0, is_in_place ? 0 : m->bytes)) == NULL) {
        answer(r, NULL, origin, m->tag, NULL, 0);
        return;
    }
    char *out = mail != NULL ? (char *)mail->msg.data : NULL;
    switch (m->kind) {
    case PLI_REGION_MSG_PUT:
        pli_region_apply_put(&c, data);
        break;
    case PLI_REGION_MSG_PUT_LARGE:
        *next = (struct next){ place, m->bytes, origin, m->tag };
        break;
    case PLI_REGION_MSG_GET:
        if (is_in_place) {
            answer(r, mail, origin, m->tag, place, m->bytes);
            return;
        }
        pli_region_apply_get(&c, out);
        break;
    case PLI_REGION_MSG_SET:
        pli_region_apply_set(&c, m->op);
        break;
    case PLI_REGION_MSG_APPLY:
        pli_region_apply_op(&c, r->plan.guard, data, out);
        break;
    case PLI_REGION_MSG_WORD:
        apply_word(m, place, data, out);
        break;
    default:
        pli_region_apply_swap(c.elem.size, r->plan.guard, place, data, data + m->elem.size, out);
    }
    if (mail != NULL) {
        answer(r, mail, origin, m->tag, NULL, m->bytes);
    }
}

// An access that is wrong changes nothing; the next answer says so.
static void refuse(struct pli_region_server *s, int origin, const struct pli_region_msg *m,
                   struct next *next)
{
    const struct pli_region_plan *plan = &s->region->plan;
    if (plan->refused != NULL) {
        plan->refused(s->region, plan->arg, origin,
                      (const struct pli_region_block *)(const void *)m->data);
    }
    atomic_store_explicit(&s->faults[origin], PLI_ERR_RMA_RANGE, memory_order_relaxed);
    if (m->kind == PLI_REGION_MSG_PUT_LARGE) {
        static char nowhere;
        *next = (struct next){ &nowhere, 0, origin, m->tag }; // it is put nowhere
    } else if (m->tag != 0) {
        answer(s->region, pli_region_msg_new(s->region, 0, 0), origin, m->tag, NULL, 0);
    }
}

static void answer_key(struct pli_region_server *s, int origin, const struct pli_region_msg *m)
{
    struct pli_region_block b;
    struct pli_region_part *mail = pli_region_msg_new(s->region, 0, sizeof(struct pli_region_key));
    size_t len = 0;
    memcpy(&b, m->data, sizeof b);
    if (mail != NULL) {
        len = pli_region_ucx_register(s->region, (uint64_t)b.at,
                                      (struct pli_region_key *)(void *)mail->msg.data);
    }
    answer(s->region, mail, origin, m->tag, NULL, len);
}

static void serve(struct pli_region_server *s, int origin, size_t len, struct next *next)
{
    const struct pli_region_msg *m = &s->in.msg;
    switch (m->kind) {
    case PLI_REGION_MSG_PUT:
    case PLI_REGION_MSG_PUT_LARGE:
    case PLI_REGION_MSG_GET:
    case PLI_REGION_MSG_SET:
    case PLI_REGION_MSG_APPLY:
    case PLI_REGION_MSG_SWAP:
    case PLI_REGION_MSG_WORD: {
        const struct pli_region_block *blocks =
            (const struct pli_region_block *)(const void *)m->data;
        size_t gap = (size_t)m->elem.second - m->elem.first; // in pairs
        if (is_inside(s->region, blocks, m->n_block, gap)) {
            move(s, origin, m, next);
        } else {
            refuse(s, origin, m, next);
        }
        break;
    }
    case PLI_REGION_MSG_FLUSH: {
        int32_t err = pli_region_serve_fault(s->region, origin);
        pli_region_serve_answer(s->region, origin, m->tag, &err, sizeof err);
        break;
    }
    case PLI_REGION_MSG_ASK:
        s->region->plan.on_message(s->region, s->region->plan.arg, origin, m->tag, m->data,
                                   len - sizeof(struct pli_region_msg));
        break;
    case PLI_REGION_MSG_KEY:
        answer_key(s, origin, m);
        break;
    default:
        pli_log(PLI_ERROR, "%s: rank %d sent a message of unknown kind %u",
                pli_comm_say(s->region->comm), origin, m->kind);
    }
}

static void run(struct pli_task *t)
{
    struct pli_region_server *s = PLI_CONTAINER(t, struct pli_region_server, task);
    struct next next = { 0 };
    pli_region_msg_order(s->region);
    const struct pli_request *r = &s->recv->child.r;
    if (!s->is_receiving_data && r->err == PLI_OK && r->bytes >= sizeof(struct pli_region_msg)) {
        serve(s, r->source, r->bytes, &next);
    }
    pli_region_msg_order(s->region);
    receive_next(s, &next);
}

enum pli_err pli_region_serve_open(struct pli_region *r)
{
    struct pli_region_server *s = calloc(1, sizeof *s);
    _Atomic int *faults = calloc((size_t)r->comm->size, sizeof *faults);
    if (s == NULL || faults == NULL) {
        free(s);
        free(faults);
        return pli_fail(PLI_ERR_NOMEM, "no memory to serve one-sided access");
    }
    s->region = r;
    s->faults = faults;
    s->task.run = run;
    r->server = s;
    enum pli_err err = wait_for_next(s);
    if (err == PLI_OK && r->plan.has_thread) {
        s->has_thread = true;
        pli_progress_thread_retain();
    }
    return err;
}

void pli_region_serve_close(struct pli_region *r)
{
    struct pli_region_server *s = r->server;
    if (s == NULL) {
        return;
    }
    pli_region_msg_throttle(r, 0);
    // Another thread may be about to post the receive again.
    struct pli_waiter wait = { .lane = pli_region_msg_lane(r),
                               .comm = r->comm,
                               .call = "MPI_Win_free" };
    while (atomic_load(&s->n_posted) != atomic_load(&s->n_arrived) + 1 &&
           atomic_load(&s->n_posted) != 0) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
    s->is_over = true;
    if (atomic_load(&s->n_posted) != 0) {
        s->recv->child.r.ops->cancel(&s->recv->child.r);
    }
    if (s->has_thread) {
        pli_progress_thread_release();
    }
    drop_receive(s);
    free(s->faults);
    free(s);
    r->server = NULL;
}
