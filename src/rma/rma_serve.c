// SPDX-License-Identifier: BSD-3-Clause
#include "rma/rma_serve.h"

#include "base/log.h"
#include "core/ep.h"
#include "core/p2p.h"
#include "core/progress.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"
#include "rma/rma_apply.h"
#include "rma/rma_mail.h"
#include "rma/win_attach.h"

#include <stdlib.h>
#include <string.h>

enum {
    MSG = sizeof(struct pli_rma_msg) + PLI_RMA_N_BLOCK * sizeof(struct pli_rma_block) + PLI_RMA_ROOM
};

// Somebody waits for the lock.
struct hope {
    struct hope *next;
    int origin, hold;
    uint32_t tag;
};

struct pli_rma_serve {
    struct pli_win *win;
    // One receive, taken up again when its message is dealt with, so that messages of one member
    // are dealt with in order.
    struct pli_request_child recv;
    struct pli_task task;
    _Atomic uint32_t n_posted, n_arrived; // receives
    bool is_taking;                       // for the data of a large put, straight to its place
    bool is_over;
    struct hope *hopes;
    int *faults; // by member: enum pli_err of something it asked for
    union {
        struct pli_rma_msg msg;
        unsigned char bytes[MSG];
    } in;
};

static struct pli_datatype *byte_type(void)
{
    return pli_datatype_basic(MPI_BYTE);
}

bool pli_rma_serve_try(struct pli_guard *g, int hold)
{
    uint32_t was = atomic_load_explicit(&g->lock, memory_order_relaxed), want;
    do {
        uint32_t in_the_way = PLI_GUARD_QUEUED | PLI_GUARD_ALONE;
        if (hold == PLI_RMA_EXCLUSIVE ? was != 0 : (was & in_the_way) != 0) {
            return false;
        }
        want = hold == PLI_RMA_EXCLUSIVE ? (uint32_t)PLI_GUARD_ALONE : was + 1;
    } while (!atomic_compare_exchange_weak_explicit(&g->lock, &was, want, memory_order_acquire,
                                                    memory_order_relaxed));
    return true;
}

bool pli_rma_serve_leave(struct pli_guard *g, int hold)
{
    uint32_t mine = hold == PLI_RMA_EXCLUSIVE ? (uint32_t)PLI_GUARD_ALONE : 1;
    uint32_t was = atomic_fetch_sub_explicit(&g->lock, mine, memory_order_acq_rel);
    return was - mine == PLI_GUARD_QUEUED;
}

// Answer with bytes, copied or not: NULL, they are in the mail.
static void answer(struct pli_rma_serve *s, struct pli_rma_mail *m, int to, uint32_t tag,
                   const void *data, size_t len)
{
    atomic_thread_fence(memory_order_seq_cst); // who gets the answer counts on all before it
    enum pli_err err = m == NULL
                           ? PLI_ERR_NOMEM
                           : pli_rma_mail_send_data(m, to, tag, data != NULL ? data : m->msg.data,
                                                    (MPI_Count)len, byte_type());
    if (err != PLI_OK) {
        const char *why = pli_fail_take(NULL);
        pli_log(pli_err_is_news(err) ? PLI_INFO : PLI_ERROR, "%s: cannot answer rank %d: %s",
                pli_win_say(s->win), to, why);
    }
}

static void reply(struct pli_rma_serve *s, int to, uint32_t tag)
{
    struct pli_rma_mail *m = pli_rma_mail_new(s->win, 0, sizeof(struct pli_rma_reply));
    if (m != NULL) {
        struct pli_rma_reply r = { .err = s->faults[to] };
        memcpy(m->msg.data, &r, sizeof r);
        s->faults[to] = PLI_OK;
    }
    answer(s, m, to, tag, NULL, sizeof(struct pli_rma_reply));
}

// The lock is free and somebody waits; nobody else changes the word then.
static void grant(struct pli_rma_serve *s)
{
    uint32_t word = 0;
    struct hope *granted = s->hopes, *last = s->hopes;
    if (granted->hold == PLI_RMA_EXCLUSIVE) {
        word = PLI_GUARD_ALONE;
    } else {
        for (word = 1; last->next != NULL && last->next->hold == PLI_RMA_SHARED; word++) {
            last = last->next;
        }
    }
    s->hopes = last->next;
    last->next = NULL;
    atomic_store_explicit(&s->win->guard->lock, word | (s->hopes != NULL ? PLI_GUARD_QUEUED : 0),
                          memory_order_release);
    while (granted != NULL) {
        struct hope *h = granted;
        granted = h->next;
        reply(s, h->origin, h->tag);
        free(h);
    }
}

static void lock(struct pli_rma_serve *s, int origin, const struct pli_rma_msg *m)
{
    struct pli_guard *g = s->win->guard;
    if (s->hopes == NULL && pli_rma_serve_try(g, m->op)) {
        reply(s, origin, m->tag);
        return;
    }
    struct hope *h = malloc(sizeof *h), **end = &s->hopes;
    bool is_first = s->hopes == NULL;
    if (h == NULL) {
        s->faults[origin] = PLI_ERR_NOMEM;
        reply(s, origin, m->tag);
        return;
    }
    *h = (struct hope){ NULL, origin, m->op, m->tag };
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = h;
    if (is_first &&
        atomic_fetch_or_explicit(&g->lock, PLI_GUARD_QUEUED, memory_order_acq_rel) == 0) {
        grant(s); // it got free meanwhile
    }
}

// Whether all blocks lie in this member's memory.
static bool is_inside(struct pli_win *w, const struct pli_rma_block *b, int n, size_t gap)
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
        if (!pli_win_attach_has(w, low, all)) {
            return false;
        }
    }
    return true;
}

static enum pli_err receive(struct pli_rma_serve *s, void *to, uint64_t len, int source,
                            uint32_t tag)
{
    enum pli_err err = pli_p2p_begin_recv(&s->recv, to, (MPI_Count)len, byte_type(), source,
                                          (int)tag, s->win->comm, PLI_CHAN_P2P);
    if (err == PLI_OK) {
        atomic_fetch_add_explicit(&s->n_posted, 1, memory_order_release);
    }
    return err;
}

// What others want waits until the data is here. Data that may not go there goes nowhere.
static void take(struct pli_rma_serve *s, int origin, char *to, const struct pli_rma_msg *m)
{
    s->is_taking = true;
    if (receive(s, to, m->bytes, origin, m->tag) != PLI_OK) {
        s->is_taking = false;
        pli_log(PLI_ERROR, "%s: cannot take what rank %d puts here: %s", pli_win_say(s->win),
                origin, pli_fail_take(NULL));
    }
}

static void move(struct pli_rma_serve *s, int origin, const struct pli_rma_msg *m)
{
    struct pli_win *w = s->win;
    const struct pli_rma_block *blocks = (const struct pli_rma_block *)(const void *)m->data;
    const char *data = (const char *)(blocks + m->n_block);
    struct pli_rma_change c = { (uintptr_t)w->base, blocks, m->n_block, m->elem, m->op };
    bool is_get = m->kind == PLI_RMA_GET;
    char *place = (char *)(c.base + (uintptr_t)blocks[0].at);
    struct pli_rma_mail *mail = NULL;
    if (m->tag != 0 && m->kind != PLI_RMA_TAKE &&
        (mail = pli_rma_mail_new(
             w, 0, is_get && m->n_block == 1 && blocks[0].n == 1 ? 0 : m->bytes)) == NULL) {
        answer(s, NULL, origin, m->tag, NULL, 0);
        return;
    }
    char *out = mail != NULL ? (char *)mail->msg.data : NULL;
    switch (m->kind) {
    case PLI_RMA_PUT:
        pli_rma_apply_put(&c, data);
        break;
    case PLI_RMA_TAKE:
        take(s, origin, place, m);
        break;
    case PLI_RMA_GET:
        if (m->n_block == 1 && blocks[0].n == 1) {
            answer(s, mail, origin, m->tag, place, m->bytes);
            return;
        }
        pli_rma_apply_get(&c, out);
        break;
    case PLI_RMA_APPLY:
        pli_rma_apply_op(&c, w->guard, data, out);
        break;
    default:
        pli_rma_apply_swap(&c.elem, w->guard, place, data, data + m->elem.size, out);
    }
    if (mail != NULL) {
        answer(s, mail, origin, m->tag, NULL, m->bytes);
    }
}

// An access that is wrong changes nothing; the next answer says so.
static void refuse(struct pli_rma_serve *s, int origin, const struct pli_rma_msg *m)
{
    s->faults[origin] = PLI_ERR_RMA_RANGE;
    if (m->kind == PLI_RMA_TAKE) {
        static char nowhere;
        take(s, origin, &nowhere, &(struct pli_rma_msg){ .tag = m->tag });
    } else if (m->tag != 0) {
        answer(s, pli_rma_mail_new(s->win, 0, 0), origin, m->tag, NULL, 0);
    }
}

static void serve(struct pli_rma_serve *s, int origin)
{
    const struct pli_rma_msg *m = &s->in.msg;
    switch (m->kind) {
    case PLI_RMA_PUT:
    case PLI_RMA_TAKE:
    case PLI_RMA_GET:
    case PLI_RMA_APPLY:
    case PLI_RMA_SWAP: {
        const struct pli_rma_block *blocks = (const struct pli_rma_block *)(const void *)m->data;
        size_t gap = (size_t)m->elem.second - m->elem.first; // in pairs
        if (is_inside(s->win, blocks, m->n_block, gap)) {
            move(s, origin, m);
        } else {
            refuse(s, origin, m);
        }
        break;
    }
    case PLI_RMA_FLUSH:
        reply(s, origin, m->tag);
        break;
    case PLI_RMA_LOCK:
        lock(s, origin, m);
        break;
    case PLI_RMA_UNLOCK:
        if (pli_rma_serve_leave(s->win->guard, m->op)) {
            grant(s);
        }
        reply(s, origin, m->tag);
        break;
    case PLI_RMA_LOCK_FREE:
        grant(s);
        break;
    default:
        pli_log(PLI_ERROR, "%s: rank %d sent something of kind %u", pli_win_say(s->win), origin,
                m->kind);
    }
}

static enum pli_err wait_for_next(struct pli_rma_serve *s)
{
    return receive(s, &s->in, sizeof s->in, MPI_ANY_SOURCE, PLI_RMA_TAG_ASK);
}

static void run(struct pli_task *t)
{
    struct pli_rma_serve *s = PLI_CONTAINER(t, struct pli_rma_serve, task);
    bool was_data = s->is_taking;
    s->is_taking = false;
    pli_win_order(s->win);
    if (!was_data && s->recv.r.err == PLI_OK && s->recv.r.bytes >= sizeof(struct pli_rma_msg)) {
        serve(s, s->recv.r.source);
    }
    pli_win_order(s->win);
    if (!s->is_taking && wait_for_next(s) != PLI_OK) {
        pli_log(PLI_ERROR, "%s: no more requests can be served: %s", pli_win_say(s->win),
                pli_fail_take(NULL));
    }
}

// Context: lane locked, so the work itself is left for later.
static void arrived(struct pli_request_child *c)
{
    struct pli_rma_serve *s = PLI_CONTAINER(c, struct pli_rma_serve, recv);
    atomic_fetch_add_explicit(&s->n_arrived, 1, memory_order_release);
    if (!s->is_over) {
        pli_lane_defer(c->r.lane, &s->task);
    }
}

enum pli_err pli_rma_serve_open(struct pli_win *w)
{
    struct pli_rma_serve *s = calloc(1, sizeof *s);
    int *faults = calloc((size_t)w->comm->size, sizeof *faults);
    if (s == NULL || faults == NULL) {
        free(s);
        free(faults);
        return pli_fail(PLI_ERR_NOMEM, "no memory to serve a window");
    }
    s->win = w;
    s->faults = faults;
    s->recv.done = arrived;
    s->task.run = run;
    w->serve = s;
    return wait_for_next(s);
}

void pli_rma_serve_close(struct pli_win *w)
{
    struct pli_rma_serve *s = w->serve;
    if (s == NULL) {
        return;
    }
    pli_rma_mail_room(w, 0);
    // Another thread may be about to take up the receive again.
    struct pli_waiter wait = { .lane = w->comm->ep->lane, .comm = w->comm, .call = "MPI_Win_free" };
    while (atomic_load(&s->n_posted) != atomic_load(&s->n_arrived) + 1 &&
           atomic_load(&s->n_posted) != 0) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
    s->is_over = true;
    if (atomic_load(&s->n_posted) != 0) {
        s->recv.r.ops->cancel(&s->recv.r);
    }
    free(s->faults);
    free(s);
    w->serve = NULL;
}
