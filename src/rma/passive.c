// SPDX-License-Identifier: BSD-3-Clause
// Locks are words beside the memory: near members change them, and ask the owner only when somebody
// is in the way; the owner changes them for far ones.
#include "rma/passive.h"

#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "rma/epoch.h"
#include "rma/rma_lock.h"
#include "rma/rma_mail.h"
#include "rma/rma_target.h"

#include <stdio.h>
#include <stdlib.h>

// What went wrong with an access to a member that nobody was told of yet.
static enum pli_err fault(struct pli_win *w, int rank)
{
    _Atomic int *at = &w->peers[rank].fault;
    if (atomic_load_explicit(at, memory_order_relaxed) == PLI_OK) {
        return PLI_OK;
    }
    int err = atomic_exchange_explicit(at, PLI_OK, memory_order_relaxed);
    return err == PLI_OK ? PLI_OK
                         : pli_fail((enum pli_err)err, "an access to %s at rank %d failed: %s",
                                    pli_win_say(w), rank, pli_err_text((enum pli_err)err));
}

// The same of all members: the first.
static enum pli_err fault_all(struct pli_win *w)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < w->comm->size; i++) {
        if (err == PLI_OK) {
            err = fault(w, i);
        } else {
            atomic_store_explicit(&w->peers[i].fault, PLI_OK, memory_order_relaxed);
        }
    }
    return err;
}

static enum pli_err finish(struct pli_win *w, int rank, const char *call)
{
    struct pli_win_peer *p = &w->peers[rank];
    enum pli_err err = PLI_OK;
    atomic_thread_fence(memory_order_seq_cst);
    pli_rma_mail_settle(w, rank, call);
    if (atomic_exchange_explicit(&p->is_dirty, false, memory_order_relaxed)) {
        err = pli_rma_mail_call(w, rank, PLI_RMA_FLUSH, 0);
    }
    err = err == PLI_OK ? fault(w, rank) : err;
    return err == PLI_OK ? pli_rma_target_alive(w, rank) : err;
}

// Ask some members at once, then hear them all; the first error. want: whether a member is asked;
// got: it has answered.
static enum pli_err ask_all(struct pli_win *w, enum pli_rma_kind kind, int op,
                            bool (*want)(struct pli_win *w, int rank),
                            void (*got)(struct pli_win_peer *p))
{
    int n = w->comm->size, n_asked = 0;
    enum pli_err err = PLI_OK;
    struct pli_rma_question *q = NULL;
    int *ranks = NULL;
    for (int i = 0; i < n; i++) {
        if (!want(w, i)) {
            continue;
        }
        if (q == NULL) {
            q = malloc((size_t)n * sizeof *q);
            ranks = malloc((size_t)n * sizeof *ranks);
        }
        if (q == NULL || ranks == NULL) {
            err = pli_fail(PLI_ERR_NOMEM, "no memory to ask %d ranks", n);
            break;
        }
        enum pli_err e = pli_rma_mail_ask(w, i, kind, op, &q[n_asked]);
        ranks[n_asked] = i;
        n_asked += e == PLI_OK;
        err = err == PLI_OK ? e : err;
    }
    for (int i = 0; i < n_asked; i++) {
        enum pli_err e = pli_rma_mail_hear(ranks[i], &q[i]);
        err = err == PLI_OK ? e : err;
        if (e == PLI_OK && got != NULL) {
            got(&w->peers[ranks[i]]);
        }
    }
    free(q);
    free(ranks);
    return err;
}

static bool is_dirty(struct pli_win *w, int rank)
{
    return atomic_exchange_explicit(&w->peers[rank].is_dirty, false, memory_order_relaxed);
}

static void settle_all(struct pli_win *w, const char *call)
{
    for (int i = 0; i < w->comm->size; i++) {
        pli_rma_mail_settle(w, i, call);
    }
}

enum pli_err pli_passive_finish_all(struct pli_win *w, const char *call)
{
    atomic_thread_fence(memory_order_seq_cst);
    settle_all(w, call);
    enum pli_err err = ask_all(w, PLI_RMA_FLUSH, 0, is_dirty, NULL);
    return err == PLI_OK ? fault_all(w) : err;
}

// Who comes again and again may wait for something that others need this process for.
static void look_around(struct pli_win *w)
{
    pli_win_order(w);
    pli_progress_test(w->comm->ep->lane);
    pli_win_order(w);
}

// A lock may be taken in this state of the window.
static enum pli_err may_lock(struct pli_win *w, const char *what)
{
    if (w->access == PLI_ACCESS_FENCE || w->access == PLI_ACCESS_START) {
        return pli_epoch_none(w, what);
    }
    if (w->access == PLI_ACCESS_LOCK_ALL || (w->access == PLI_ACCESS_LOCK && w->n_hold == 0)) {
        return pli_fail(PLI_ERR_RMA_SYNC, "%s is locked at all ranks by MPI_Win_lock_all",
                        pli_win_say(w));
    }
    return PLI_OK;
}

// The lock was released because a process that held it died. Each member is told once, and does not
// hold the lock then.
static __attribute__((cold)) enum pli_err lost(struct pli_win *w, int rank,
                                               const struct pli_rma_reply *r)
{
    char who[440];
    w->peers[rank].n_lost = r->n_lost;
    pli_failure_say_failed(w->comm, who, sizeof who); // on another host it may not be known yet
    return pli_fail(PLI_ERR_PROC_FAILED,
                    "rank %u died, which held the lock of %s at rank %d and may have left its "
                    "work there half done%s%s. The lock was released: MPI_Win_lock can be called "
                    "again",
                    r->lost, pli_win_say(w), rank, who[0] != '\0' ? ": " : "", who);
}

static enum pli_err leave_near(struct pli_win *w, int rank, int hold);

static enum pli_err take(struct pli_win *w, int rank, int hold)
{
    struct pli_win_peer *p = &w->peers[rank];
    struct pli_rma_question q = { 0 };
    if (p->is_near && pli_rma_lock_try(p->guard, w->comm->rank, hold)) {
        struct pli_rma_reply r = { .n_lost = atomic_load_explicit(&p->guard->n_lost,
                                                                  memory_order_relaxed) };
        if (__builtin_expect(r.n_lost == p->n_lost, 1)) {
            return PLI_OK;
        }
        r.lost = atomic_load_explicit(&p->guard->lost, memory_order_relaxed);
        enum pli_err err = leave_near(w, rank, hold);
        return err == PLI_OK ? lost(w, rank, &r) : err;
    }
    enum pli_err err = pli_rma_mail_ask(w, rank, PLI_RMA_LOCK, hold, &q);
    err = err == PLI_OK ? pli_rma_mail_hear(rank, &q) : err;
    return err == PLI_ERR_PROC_FAILED && q.reply.n_lost != p->n_lost ? lost(w, rank, &q.reply)
                                                                     : err;
}

// What was done to a far one is done when it answers: it keeps the order.
static enum pli_err leave_far(struct pli_win *w, int rank, int hold)
{
    struct pli_rma_question q;
    atomic_store_explicit(&w->peers[rank].is_dirty, false, memory_order_relaxed);
    if (atomic_exchange_explicit(&w->peers[rank].is_reading, false, memory_order_relaxed)) {
        pli_rma_mail_settle(w, rank, "MPI_Win_unlock"); // or the next holder changes it meanwhile
    }
    enum pli_err err = pli_rma_mail_ask(w, rank, PLI_RMA_UNLOCK, hold, &q);
    pli_rma_mail_settle(w, rank, "MPI_Win_unlock");
    return err == PLI_OK ? pli_rma_mail_hear(rank, &q) : err;
}

// Nothing is heard of a near one.
static enum pli_err leave_near(struct pli_win *w, int rank, int hold)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!pli_rma_lock_leave(w->peers[rank].guard, w->comm->rank, hold)) {
        return PLI_OK;
    }
    struct pli_rma_mail *m = pli_rma_mail_new(w, PLI_RMA_LOCK_FREE, 0);
    return m == NULL ? PLI_ERR_NOMEM : pli_rma_mail_send(m, rank, 0);
}

enum pli_err pli_passive_lock(int type, int rank, int assert, struct pli_win *w)
{
    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE) {
        return pli_fail(PLI_ERR_LOCKTYPE,
                        "argument lock_type is %d, but must be MPI_LOCK_SHARED or "
                        "MPI_LOCK_EXCLUSIVE",
                        type);
    }
    enum pli_err err = pli_epoch_check_assert(assert, MPI_MODE_NOCHECK);
    if (err != PLI_OK || rank == MPI_PROC_NULL) {
        return err;
    }
    err = pli_rma_target_check_rank(w, rank);
    err = err == PLI_OK ? may_lock(w, "MPI_Win_lock") : err;
    if (err != PLI_OK) {
        return err;
    }
    struct pli_win_peer *p = &w->peers[rank];
    int hold = type == MPI_LOCK_SHARED ? PLI_RMA_SHARED : PLI_RMA_EXCLUSIVE;
    if (p->hold != 0) {
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "this rank has locked %s at rank %d already; MPI_Win_unlock must come "
                        "before",
                        pli_win_say(w), rank);
    }
    err = pli_rma_target_alive(w, rank);
    if (err == PLI_OK && (assert &MPI_MODE_NOCHECK) == 0) {
        err = take(w, rank, hold);
    }
    if (err == PLI_OK) {
        pli_lock_take(&w->lock);
        p->hold = (uint8_t)hold;
        p->is_unchecked = (assert &MPI_MODE_NOCHECK) != 0;
        w->n_hold++;
        w->access = PLI_ACCESS_LOCK;
        w->is_fenced = false;
        pli_lock_drop(&w->lock);
    }
    return err;
}

enum pli_err pli_passive_unlock(int rank, struct pli_win *w)
{
    if (rank == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = pli_rma_target_check_rank(w, rank);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_win_peer *p = &w->peers[rank];
    if (w->access != PLI_ACCESS_LOCK || p->hold == 0) {
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s is not locked at rank %d: MPI_Win_lock must come before",
                        pli_win_say(w), rank);
    }
    err = p->is_unchecked ? finish(w, rank, "MPI_Win_unlock")
          : p->is_near    ? leave_near(w, rank, p->hold)
                          : leave_far(w, rank, p->hold);
    pli_lock_take(&w->lock);
    p->hold = 0;
    if (--w->n_hold == 0) {
        w->access = PLI_ACCESS_NONE;
    }
    pli_lock_drop(&w->lock);
    look_around(w);
    err = err == PLI_OK ? fault(w, rank) : err;
    return err == PLI_OK ? pli_rma_target_alive(w, rank) : err;
}

static void note_shared(struct pli_win_peer *p)
{
    p->hold = PLI_RMA_SHARED;
}

// Whether the lock of a member must be asked for; else it is held now.
static bool must_ask(struct pli_win *w, int rank)
{
    struct pli_win_peer *p = &w->peers[rank];
    bool is_mine = p->is_near && pli_rma_lock_try(p->guard, w->comm->rank, PLI_RMA_SHARED);
    if (is_mine) {
        note_shared(p);
    }
    return !is_mine;
}

static bool is_far_held(struct pli_win *w, int rank)
{
    struct pli_win_peer *p = &w->peers[rank];
    bool is = p->hold != 0 && !p->is_near;
    if (is) {
        atomic_store_explicit(&p->is_dirty, false, memory_order_relaxed);
        p->hold = 0;
    }
    return is;
}

// Leave all locks that are held, whatever goes wrong with one of them.
static enum pli_err leave_all(struct pli_win *w)
{
    enum pli_err err = ask_all(w, PLI_RMA_UNLOCK, PLI_RMA_SHARED, is_far_held, NULL);
    for (int i = 0; i < w->comm->size; i++) {
        if (w->peers[i].hold != 0) {
            enum pli_err e = leave_near(w, i, PLI_RMA_SHARED);
            err = err == PLI_OK ? e : err;
            w->peers[i].hold = 0;
        }
    }
    return err;
}

static enum pli_err take_all(struct pli_win *w)
{
    enum pli_err err = pli_rma_target_all_alive(w);
    if (err == PLI_OK) {
        err = ask_all(w, PLI_RMA_LOCK, PLI_RMA_SHARED, must_ask, note_shared);
        if (err != PLI_OK) { // all or none
            char why[512];
            snprintf(why, sizeof why, "%s", pli_fail_take(NULL));
            leave_all(w);
            pli_fail(err, "%s", why);
        }
    }
    return err;
}

enum pli_err pli_passive_lock_all(int assert, struct pli_win *w)
{
    enum pli_err err = pli_epoch_check_assert(assert, MPI_MODE_NOCHECK);
    err = err == PLI_OK ? may_lock(w, "MPI_Win_lock_all") : err;
    if (err == PLI_OK && w->access == PLI_ACCESS_LOCK) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "this rank has locked %s already; MPI_Win_unlock must come before",
                       pli_win_say(w));
    }
    if (err == PLI_OK && (assert &MPI_MODE_NOCHECK) == 0) {
        err = take_all(w);
    }
    if (err == PLI_OK) {
        w->access = PLI_ACCESS_LOCK_ALL;
        w->is_fenced = false;
    }
    return err;
}

enum pli_err pli_passive_unlock_all(struct pli_win *w)
{
    if (w->access != PLI_ACCESS_LOCK_ALL) {
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s is not locked at all ranks: MPI_Win_lock_all must come before",
                        pli_win_say(w));
    }
    atomic_thread_fence(memory_order_seq_cst);
    settle_all(w, "MPI_Win_unlock_all");
    enum pli_err err = leave_all(w);
    enum pli_err rest =
        ask_all(w, PLI_RMA_FLUSH, 0, is_dirty, NULL); // without MPI_MODE_NOCHECK: none
    w->access = PLI_ACCESS_NONE;
    look_around(w);
    err = err == PLI_OK ? rest : err;
    err = err == PLI_OK ? fault_all(w) : err;
    return err == PLI_OK ? pli_rma_target_all_alive(w) : err;
}

// A rank that can be flushed.
static enum pli_err may_flush(struct pli_win *w, int rank)
{
    enum pli_err err = pli_rma_target_check_rank(w, rank);
    if (err != PLI_OK) {
        return err;
    }
    bool is_held = w->access == PLI_ACCESS_LOCK_ALL ||
                   (w->access == PLI_ACCESS_LOCK && w->peers[rank].hold != 0);
    return is_held ? PLI_OK
                   : pli_fail(PLI_ERR_RMA_SYNC,
                              "%s is not locked at rank %d: MPI_Win_lock or MPI_Win_lock_all must "
                              "come before a flush",
                              pli_win_say(w), rank);
}

// A member that is locked died.
static enum pli_err held_alive(const struct pli_win *w)
{
    enum pli_err err = w->access == PLI_ACCESS_LOCK_ALL ? pli_rma_target_all_alive(w) : PLI_OK;
    for (int i = 0; i < w->comm->size && err == PLI_OK; i++) {
        err = w->peers[i].hold != 0 ? pli_rma_target_alive(w, i) : PLI_OK;
    }
    return err;
}

static enum pli_err may_flush_all(const struct pli_win *w)
{
    return w->access == PLI_ACCESS_LOCK_ALL || w->access == PLI_ACCESS_LOCK
               ? PLI_OK
               : pli_fail(PLI_ERR_RMA_SYNC,
                          "%s is not locked: MPI_Win_lock or MPI_Win_lock_all must come before a "
                          "flush",
                          pli_win_say(w));
}

enum pli_err pli_passive_flush(int rank, struct pli_win *w)
{
    if (rank == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = may_flush(w, rank);
    if (err == PLI_OK) {
        err = finish(w, rank, "MPI_Win_flush");
        look_around(w);
    }
    return err;
}

enum pli_err pli_passive_flush_all(struct pli_win *w)
{
    enum pli_err err = may_flush_all(w);
    if (err == PLI_OK) {
        err = pli_passive_finish_all(w, "MPI_Win_flush_all");
        look_around(w);
        err = err == PLI_OK ? held_alive(w) : err;
    }
    return err;
}

enum pli_err pli_passive_flush_local(int rank, struct pli_win *w)
{
    if (rank == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = may_flush(w, rank);
    if (err == PLI_OK) {
        pli_rma_mail_settle(w, rank, "MPI_Win_flush_local");
        look_around(w);
        err = fault(w, rank);
        err = err == PLI_OK ? pli_rma_target_alive(w, rank) : err;
    }
    return err;
}

enum pli_err pli_passive_flush_local_all(struct pli_win *w)
{
    enum pli_err err = may_flush_all(w);
    if (err == PLI_OK) {
        settle_all(w, "MPI_Win_flush_local_all");
        look_around(w);
        err = fault_all(w);
        err = err == PLI_OK ? held_alive(w) : err;
    }
    return err;
}

enum pli_err pli_passive_sync(struct pli_win *w)
{
    atomic_thread_fence(memory_order_seq_cst);
    look_around(w);
    atomic_thread_fence(memory_order_seq_cst);
    return PLI_OK;
}
