// SPDX-License-Identifier: BSD-3-Clause
// Gives the lock of this member's memory to members that ask by messages.
// Members that wait are answered when it is their turn, so that they need not ask again.
#include "rma/win_lock.h"

#include "base/log.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "onesided/region_lock.h"
#include "onesided/region_serve.h"
#include "rma/win_failure.h"
#include "rma/win.h"
#include "rma/win_wire.h"

#include <stdlib.h>
#include <string.h>

struct pli_win_lock_server {
    struct pli_win *win;
    struct pli_region_queue queue;
    struct pli_task release; // members died: what they held is released
    bool must_release;       // that is to be done; guarded by the lane's lock
    int n_release;           // threads that do it; guarded by the lane's lock
    struct pli_win_failure_listener failures;
    bool is_listening; // to failures, in a list that other windows change
};

static void reply(struct pli_region *r, const struct pli_win *w, int to, uint32_t tag,
                  enum pli_err err)
{
    struct pli_win_lock_reply a = { (int32_t)err, atomic_load(&w->guard->n_lost),
                                    atomic_load(&w->guard->lost) };
    if (err == PLI_OK) {
        a.err = (int32_t)pli_region_serve_fault(r, to);
    }
    pli_region_serve_answer(r, to, tag, &a, sizeof a);
}

// The wait of these members for the lock is over.
static void reply_all(struct pli_region *r, const struct pli_win *w, struct pli_region_waiter *over)
{
    while (over != NULL) {
        struct pli_region_waiter *h = over;
        over = h->next;
        reply(r, w, h->origin, h->tag, h->err);
        free(h);
    }
}

static void lock(struct pli_region *r, struct pli_win *w, int origin, uint32_t tag,
                 const struct pli_win_lock_msg *m)
{
    struct pli_region_waiter *h = malloc(sizeof *h);
    if (h == NULL) {
        reply(r, w, origin, tag, PLI_ERR_NOMEM);
        return;
    }
    *h = (struct pli_region_waiter){ .origin = origin, .hold = m->hold, .tag = tag };
    reply_all(r, w, pli_region_lock_ask(&w->locks->queue, w->guard, h, m->n_lost));
}

void pli_win_lock_message(struct pli_region *r, void *arg, int origin, uint32_t tag,
                          const void *text, size_t len)
{
    struct pli_win *w = arg;
    struct pli_win_lock_msg m = { 0 };
    memcpy(&m, text, len == sizeof m ? len : 0);
    switch (m.kind) {
    case PLI_WIN_LOCK:
        lock(r, w, origin, tag, &m);
        break;
    case PLI_WIN_UNLOCK:
        if (pli_region_lock_release(w->guard, origin, m.hold)) {
            reply_all(r, w, pli_region_lock_grant(&w->locks->queue, w->guard));
        }
        reply(r, w, origin, tag, PLI_OK);
        break;
    case PLI_WIN_LOCK_FREE:
        reply_all(r, w, pli_region_lock_grant(&w->locks->queue, w->guard));
        break;
    default:
        pli_log(PLI_ERROR, "%s: rank %d sent a message of unknown kind %u about the lock",
                pli_win_say(w), origin, m.kind);
    }
}

static bool is_dead(int rank, void *arg)
{
    return pli_win_failure_has(arg, rank);
}

static void release(struct pli_task *t)
{
    struct pli_win_lock_server *s = PLI_CONTAINER(t, struct pli_win_lock_server, release);
    struct pli_win *w = s->win;
    struct pli_lane *lane = w->comm->ep->lane;
    pli_lock_take(&lane->lock);
    s->must_release = false; // news that comes from here on is another round
    s->n_release++;
    pli_lock_drop(&lane->lock);
    reply_all(w->region, w,
              pli_region_lock_release_dead(&s->queue, w->guard, w->comm->size, is_dead, w));
    pli_lock_take(&lane->lock);
    s->n_release--;
    pli_lock_drop(&lane->lock);
}

static void note_failure(struct pli_win_failure_listener *d)
{
    struct pli_win_lock_server *s = PLI_CONTAINER(d, struct pli_win_lock_server, failures);
    struct pli_lane *lane = s->win->comm->ep->lane;
    pli_lock_take(&lane->lock);
    if (!s->must_release) {
        s->must_release = true;
        pli_lane_defer(lane, &s->release);
    }
    pli_lock_drop(&lane->lock);
    pli_lane_wake(lane);
}

static bool is_releasing(struct pli_win_lock_server *s)
{
    struct pli_lane *lane = s->win->comm->ep->lane;
    pli_lock_take(&lane->lock);
    bool is = s->must_release || s->n_release > 0;
    pli_lock_drop(&lane->lock);
    return is;
}

enum pli_err pli_win_lock_open(struct pli_win *w)
{
    struct pli_win_lock_server *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the lock of a window");
    }
    s->win = w;
    s->release.run = release;
    s->failures.on_failure = note_failure;
    w->locks = s;
    return PLI_OK;
}

void pli_win_lock_listen(struct pli_win *w)
{
    w->locks->is_listening = true;
    pli_win_failure_listen(&w->locks->failures);
}

void pli_win_lock_stop(struct pli_win *w)
{
    struct pli_win_lock_server *s = w->locks;
    if (s == NULL || !s->is_listening) {
        return;
    }
    pli_win_failure_stop(&s->failures);
    struct pli_waiter wait = { .lane = w->comm->ep->lane, .comm = w->comm, .call = "MPI_Win_free" };
    while (is_releasing(s)) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

void pli_win_lock_close(struct pli_win *w)
{
    if (w->locks != NULL) {
        pli_region_lock_clear(&w->locks->queue);
        free(w->locks);
        w->locks = NULL;
    }
}
