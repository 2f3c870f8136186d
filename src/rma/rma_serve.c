// SPDX-License-Identifier: BSD-3-Clause
#include "rma/rma_serve.h"

#include "base/log.h"
#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "rma/rma_apply.h"
#include "rma/rma_deaths.h"
#include "rma/rma_lock.h"
#include "rma/rma_mail.h"
#include "rma/win_attach.h"

#include <stdlib.h>
#include <string.h>

enum {
    MSG = sizeof(struct pli_rma_msg) + PLI_RMA_N_BLOCK * sizeof(struct pli_rma_block) + PLI_RMA_ROOM
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
    struct pli_rma_queue queue; // who waits for the lock
    struct pli_task release;    // members died: what they held is released
    bool must_release;          // that is to be done; guarded by the lane's lock
    int n_release;              // threads that do it; guarded by the lane's lock
    struct pli_rma_deaths deaths;
    _Atomic int *faults; // by member: enum pli_err of something it asked for
    union {
        struct pli_rma_msg msg;
        unsigned char bytes[MSG];
    } in;
};

// Answer with bytes, copied or not: NULL, they are in the mail.
static void answer(struct pli_rma_serve *s, struct pli_rma_mail *m, int to, uint32_t tag,
                   const void *data, size_t len)
{
    atomic_thread_fence(memory_order_seq_cst); // who gets the answer counts on all before it
    enum pli_err err = m == NULL
                           ? PLI_ERR_NOMEM
                           : pli_rma_mail_send_data(m, to, tag, data != NULL ? data : m->msg.data,
                                                    (MPI_Count)len, pli_rma_mail_byte());
    if (err != PLI_OK) {
        const char *why = pli_fail_take(NULL);
        pli_log(pli_err_is_news(err) ? PLI_INFO : PLI_ERROR, "%s: cannot answer rank %d: %s",
                pli_win_say(s->win), to, why);
    }
}

static void reply(struct pli_rma_serve *s, int to, uint32_t tag, enum pli_err err)
{
    struct pli_rma_mail *m = pli_rma_mail_new(s->win, 0, sizeof(struct pli_rma_reply));
    if (m != NULL) {
        struct pli_rma_reply r = { (int32_t)err, atomic_load(&s->win->guard->n_lost),
                                   atomic_load(&s->win->guard->lost) };
        if (err == PLI_OK) {
            r.err = atomic_exchange_explicit(&s->faults[to], PLI_OK, memory_order_relaxed);
        }
        memcpy(m->msg.data, &r, sizeof r);
    }
    answer(s, m, to, tag, NULL, sizeof(struct pli_rma_reply));
}

// Those whose wait for the lock is over.
static void reply_all(struct pli_rma_serve *s, struct pli_rma_hope *over)
{
    while (over != NULL) {
        struct pli_rma_hope *h = over;
        over = h->next;
        reply(s, h->origin, h->tag, h->err);
        free(h);
    }
}

static void lock(struct pli_rma_serve *s, int origin, const struct pli_rma_msg *m)
{
    struct pli_rma_hope *h = malloc(sizeof *h);
    if (h == NULL) {
        reply(s, origin, m->tag, PLI_ERR_NOMEM);
        return;
    }
    *h = (struct pli_rma_hope){ .origin = origin, .hold = m->op, .tag = m->tag };
    reply_all(s, pli_rma_lock_ask(&s->queue, s->win->guard, h, (uint32_t)m->bytes));
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
    enum pli_err err = pli_p2p_begin_recv(&s->recv, to, (MPI_Count)len, pli_rma_mail_byte(), source,
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
    enum pli_err err = receive(s, to, m->bytes, origin, m->tag);
    if (err != PLI_OK) {
        s->is_taking = false;
        pli_log(pli_err_is_news(err) ? PLI_INFO : PLI_ERROR,
                "%s: cannot take what rank %d puts here: %s", pli_win_say(s->win), origin,
                pli_fail_take(NULL));
    }
}

static void move(struct pli_rma_serve *s, int origin, const struct pli_rma_msg *m)
{
    struct pli_win *w = s->win;
    const struct pli_rma_block *blocks = (const struct pli_rma_block *)(const void *)m->data;
    const char *data = (const char *)(blocks + m->n_block);
    struct pli_rma_change c = { (uintptr_t)w->base, blocks, m->n_block, m->elem, m->op };
    // More than a copy is worth goes out of the memory itself: who gets it waits before it unlocks.
    bool is_in_place =
        m->kind == PLI_RMA_GET && m->n_block == 1 && blocks[0].n == 1 && m->bytes > PLI_RMA_COPY;
    char *place = (char *)(c.base + (uintptr_t)blocks[0].at);
    struct pli_rma_mail *mail = NULL;
    if (m->tag != 0 && m->kind != PLI_RMA_TAKE &&
        (mail = pli_rma_mail_new(w, 0, is_in_place ? 0 : m->bytes)) == NULL) {
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
        if (is_in_place) {
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
    atomic_store_explicit(&s->faults[origin], PLI_ERR_RMA_RANGE, memory_order_relaxed);
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
        reply(s, origin, m->tag, PLI_OK);
        break;
    case PLI_RMA_LOCK:
        lock(s, origin, m);
        break;
    case PLI_RMA_UNLOCK:
        if (pli_rma_lock_leave(s->win->guard, origin, m->op)) {
            reply_all(s, pli_rma_lock_grant(&s->queue, s->win->guard));
        }
        reply(s, origin, m->tag, PLI_OK);
        break;
    case PLI_RMA_LOCK_FREE:
        reply_all(s, pli_rma_lock_grant(&s->queue, s->win->guard));
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

static bool is_dead(int rank, void *arg)
{
    return pli_rma_deaths_has(arg, rank);
}

static void release(struct pli_task *t)
{
    struct pli_rma_serve *s = PLI_CONTAINER(t, struct pli_rma_serve, release);
    struct pli_win *w = s->win;
    struct pli_lane *lane = w->comm->ep->lane;
    pli_lock_take(&lane->lock);
    s->must_release = false; // news that comes from here on is another round
    s->n_release++;
    pli_lock_drop(&lane->lock);
    reply_all(s, pli_rma_lock_release_dead(&s->queue, w->guard, w->comm->size, is_dead, w));
    pli_lock_take(&lane->lock);
    s->n_release--;
    pli_lock_drop(&lane->lock);
}

static void hear_of_death(struct pli_rma_deaths *d)
{
    struct pli_rma_serve *s = PLI_CONTAINER(d, struct pli_rma_serve, deaths);
    struct pli_lane *lane = s->win->comm->ep->lane;
    pli_lock_take(&lane->lock);
    if (!s->must_release) {
        s->must_release = true;
        pli_lane_defer(lane, &s->release);
    }
    pli_lock_drop(&lane->lock);
    pli_lane_stir(lane);
}

static bool is_releasing(struct pli_rma_serve *s)
{
    struct pli_lane *lane = s->win->comm->ep->lane;
    pli_lock_take(&lane->lock);
    bool is = s->must_release || s->n_release > 0;
    pli_lock_drop(&lane->lock);
    return is;
}

enum pli_err pli_rma_serve_open(struct pli_win *w)
{
    struct pli_rma_serve *s = calloc(1, sizeof *s);
    _Atomic int *faults = calloc((size_t)w->comm->size, sizeof *faults);
    if (s == NULL || faults == NULL) {
        free(s);
        free(faults);
        return pli_fail(PLI_ERR_NOMEM, "no memory to serve a window");
    }
    s->win = w;
    s->faults = faults;
    s->recv.done = arrived;
    s->task.run = run;
    s->release.run = release;
    s->deaths.hear = hear_of_death;
    w->serve = s;
    enum pli_err err = wait_for_next(s);
    pli_rma_deaths_listen(&s->deaths);
    return err;
}

void pli_rma_serve_close(struct pli_win *w)
{
    struct pli_rma_serve *s = w->serve;
    if (s == NULL) {
        return;
    }
    pli_rma_deaths_stop(&s->deaths);
    pli_rma_mail_room(w, 0);
    // Another thread may be about to take up the receive again.
    struct pli_waiter wait = { .lane = w->comm->ep->lane, .comm = w->comm, .call = "MPI_Win_free" };
    while ((atomic_load(&s->n_posted) != atomic_load(&s->n_arrived) + 1 &&
            atomic_load(&s->n_posted) != 0) ||
           is_releasing(s)) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
    s->is_over = true;
    if (atomic_load(&s->n_posted) != 0) {
        s->recv.r.ops->cancel(&s->recv.r);
    }
    pli_rma_lock_clear(&s->queue);
    free(s->faults);
    free(s);
    w->serve = NULL;
}
