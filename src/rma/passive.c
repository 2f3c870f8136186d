// SPDX-License-Identifier: BSD-3-Clause
// Locks are words beside the memory, or in shared memory where that is not shared: members of the
// host change them, and ask the owner only when another member holds the lock; the owner changes
// them for others.
#include "rma/passive.h"

#include "ft/failure.h"
#include "obj/comm.h"
#include "onesided/region.h"
#include "onesided/region_lock.h"
#include "onesided/region_msg.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_flush.h"
#include "rma/win_wire.h"

#include <stdlib.h>
#include <string.h>

// A question about the lock of a member, and its answer.
struct question {
    struct pli_region_question q;
    struct pli_win_lock_reply reply;
    int rank;
};

static enum pli_err ask(struct pli_win *w, int to, enum pli_win_lock_kind kind, int hold,
                        struct question *q)
{
    struct pli_win_lock_msg text = { (uint16_t)kind, (uint16_t)hold, w->peers[to].n_lost };
    struct pli_region_part *m = pli_region_msg_new(w->region, PLI_REGION_MSG_ASK, sizeof text);
    q->reply = (struct pli_win_lock_reply){ PLI_OK, w->peers[to].n_lost, 0 };
    q->rank = to;
    if (m == NULL) {
        return PLI_ERR_NOMEM;
    }
    memcpy(m->msg.data, &text, sizeof text);
    return pli_region_msg_ask(w->region, to, m, sizeof text, &q->reply, sizeof q->reply, &q->q);
}

static enum pli_err wait_answer(struct question *q)
{
    enum pli_err err = pli_region_msg_wait_answer(&q->q, NULL);
    if (err == PLI_OK && q->reply.err != PLI_OK) {
        err = pli_fail((enum pli_err)q->reply.err, "an access to rank %d was refused there: %s",
                       q->rank, pli_err_text((enum pli_err)q->reply.err));
    }
    return err;
}

// Ask some members at once, then wait for all answers; the first error. want: whether a member is
// asked; got: it has answered.
static enum pli_err ask_all(struct pli_win *w, enum pli_win_lock_kind kind, int hold,
                            bool (*want)(struct pli_win *w, int rank),
                            void (*got)(struct pli_win_peer *p))
{
    int n = w->comm->size, n_asked = 0;
    enum pli_err err = PLI_OK;
    struct question *q = NULL;
    for (int i = 0; i < n; i++) {
        if (!want(w, i)) {
            continue;
        }
        if (q == NULL && (q = malloc((size_t)n * sizeof *q)) == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory to ask %d ranks", n);
        }
        enum pli_err e = ask(w, i, kind, hold, &q[n_asked]);
        n_asked += e == PLI_OK;
        err = err == PLI_OK ? e : err;
    }
    for (int i = 0; i < n_asked; i++) {
        enum pli_err e = wait_answer(&q[i]);
        err = err == PLI_OK ? e : err;
        if (e == PLI_OK && got != NULL) {
            got(&w->peers[q[i].rank]);
        }
    }
    free(q);
    return err;
}

// A lock may be taken in this state of the window.
static enum pli_err may_lock(struct pli_win *w, const char *what)
{
    if (w->access == PLI_ACCESS_FENCE || w->access == PLI_ACCESS_START) {
        return pli_rma_target_no_epoch(w, what);
    }
    if (w->access == PLI_ACCESS_LOCK_ALL || (w->access == PLI_ACCESS_LOCK && w->n_hold == 0)) {
        return pli_fail(PLI_ERR_RMA_SYNC, "%s is locked at all ranks by MPI_Win_lock_all",
                        pli_win_say(w));
    }
    return PLI_OK;
}

// The lock was released because a process that held it died. Each member is told once, and does not
// hold the lock then.
static __attribute__((cold)) enum pli_err report_lost(struct pli_win *w, int rank,
                                                      const struct pli_win_lock_reply *r)
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

static enum pli_err release_near(struct pli_win *w, int rank, int hold);

static enum pli_err acquire(struct pli_win *w, int rank, int hold)
{
    struct pli_win_peer *p = &w->peers[rank];
    struct question q;
    if (p->guard != NULL && pli_region_lock_try(p->guard, w->comm->rank, hold)) {
        struct pli_win_lock_reply r = { .n_lost = atomic_load_explicit(&p->guard->n_lost,
                                                                       memory_order_relaxed) };
        if (__builtin_expect(r.n_lost == p->n_lost, 1)) {
            return PLI_OK;
        }
        r.lost = atomic_load_explicit(&p->guard->lost, memory_order_relaxed);
        enum pli_err err = release_near(w, rank, hold);
        return err == PLI_OK ? report_lost(w, rank, &r) : err;
    }
    enum pli_err err = ask(w, rank, PLI_WIN_LOCK, hold, &q);
    err = err == PLI_OK ? wait_answer(&q) : err;
    return err == PLI_ERR_PROC_FAILED && q.reply.n_lost != p->n_lost
               ? report_lost(w, rank, &q.reply)
               : err;
}

// Messages to a far member are dealt with when it answers: it keeps the order. A ring, and what UCX
// does, are waited for.
static enum pli_err release_far(struct pli_win *w, int rank, int hold)
{
    struct question q;
    pli_win_flush_ring(w, rank, "MPI_Win_unlock");
    pli_region_complete_gets(w->region, rank, "MPI_Win_unlock"); // or the next holder changes it
    enum pli_err err = pli_region_flush_ucx(w->region, rank);
    enum pli_err asked = ask(w, rank, PLI_WIN_UNLOCK, hold, &q);
    pli_win_flush_local(w, rank, "MPI_Win_unlock");
    asked = asked == PLI_OK ? wait_answer(&q) : asked;
    return err == PLI_OK ? asked : err;
}

// Nothing is heard of a near one.
static enum pli_err release_near(struct pli_win *w, int rank, int hold)
{
    if (!pli_region_lock_release(w->peers[rank].guard, w->comm->rank, hold)) {
        return PLI_OK;
    }
    struct pli_win_lock_msg m = { PLI_WIN_LOCK_FREE, (uint16_t)hold, 0 };
    return pli_region_tell(w->region, rank, &m, sizeof m);
}

// Messages to one whose memory is not shared are dealt with before.
static enum pli_err release_guarded(struct pli_win *w, int rank, int hold)
{
    bool is_near = w->peers[rank].is_near;
    enum pli_err err = is_near ? PLI_OK : pli_win_flush(w, rank, "MPI_Win_unlock");
    enum pli_err released = release_near(w, rank, hold);
    return err == PLI_OK ? released : err;
}

enum pli_err pli_passive_lock(int type, int rank, int assert, struct pli_win *w)
{
    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE) {
        return pli_fail(PLI_ERR_LOCKTYPE,
                        "argument lock_type is %d, but must be MPI_LOCK_SHARED or "
                        "MPI_LOCK_EXCLUSIVE",
                        type);
    }
    enum pli_err err = pli_rma_target_check_assert(assert, MPI_MODE_NOCHECK);
    if (err != PLI_OK || rank == MPI_PROC_NULL) {
        return err;
    }
    err = pli_win_check_rank(w, rank);
    err = err == PLI_OK ? may_lock(w, "MPI_Win_lock") : err;
    if (err != PLI_OK) {
        return err;
    }
    struct pli_win_peer *p = &w->peers[rank];
    int hold = type == MPI_LOCK_SHARED ? PLI_HOLD_SHARED : PLI_HOLD_EXCLUSIVE;
    if (p->hold != 0) {
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "this rank has locked %s at rank %d already; MPI_Win_unlock must come "
                        "before",
                        pli_win_say(w), rank);
    }
    err = pli_rma_target_alive(w, rank);
    if (err == PLI_OK && (assert &MPI_MODE_NOCHECK) == 0) {
        err = acquire(w, rank, hold);
    }
    if (err == PLI_OK) {
        pli_lock_take(&w->lock);
        p->hold = (uint8_t)hold;
        p->is_unchecked = (assert &MPI_MODE_NOCHECK) != 0;
        w->n_hold++;
        pli_win_set_access(w, PLI_ACCESS_LOCK);
        pli_win_set_fenced(w, false);
        pli_lock_drop(&w->lock);
    }
    return err;
}

enum pli_err pli_passive_unlock(int rank, struct pli_win *w)
{
    if (rank == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = pli_win_check_rank(w, rank);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_win_peer *p = &w->peers[rank];
    if (w->access != PLI_ACCESS_LOCK || p->hold == 0) {
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s is not locked at rank %d: MPI_Win_lock must come before",
                        pli_win_say(w), rank);
    }
    err = p->is_unchecked    ? pli_win_flush(w, rank, "MPI_Win_unlock")
          : p->guard != NULL ? release_guarded(w, rank, p->hold)
                             : release_far(w, rank, p->hold);
    pli_lock_take(&w->lock);
    p->hold = 0;
    if (--w->n_hold == 0) {
        pli_win_set_access(w, PLI_ACCESS_NONE);
    }
    pli_lock_drop(&w->lock);
    pli_win_flush_poll_at(w, rank);
    err = err == PLI_OK ? pli_win_flush_fault(w, rank) : err;
    return err == PLI_OK ? pli_rma_target_alive(w, rank) : err;
}

static void note_shared(struct pli_win_peer *p)
{
    p->hold = PLI_HOLD_SHARED;
}

// Whether the lock of a member must be asked for; else it is held now.
static bool must_ask(struct pli_win *w, int rank)
{
    struct pli_win_peer *p = &w->peers[rank];
    bool is_mine =
        p->guard != NULL && pli_region_lock_try(p->guard, w->comm->rank, PLI_HOLD_SHARED);
    if (is_mine) {
        note_shared(p);
    }
    return !is_mine;
}

static bool is_far_held(struct pli_win *w, int rank)
{
    struct pli_win_peer *p = &w->peers[rank];
    bool is = p->hold != 0 && p->guard == NULL;
    if (is) {
        p->hold = 0;
    }
    return is;
}

// Leave all locks that are held, whatever goes wrong with one of them.
static enum pli_err release_all(struct pli_win *w)
{
    enum pli_err err = ask_all(w, PLI_WIN_UNLOCK, PLI_HOLD_SHARED, is_far_held, NULL);
    for (int i = 0; i < w->comm->size; i++) {
        if (w->peers[i].hold != 0) {
            enum pli_err e = release_guarded(w, i, PLI_HOLD_SHARED);
            err = err == PLI_OK ? e : err;
            w->peers[i].hold = 0;
        }
    }
    return err;
}

// The same after what was done there is done. Rings come first, also where no lock is held
// (MPI_MODE_NOCHECK) and where one is given back by a message.
static enum pli_err release_all_flushed(struct pli_win *w)
{
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < w->comm->size; i++) {
        pli_win_flush_ring(w, i, "MPI_Win_unlock_all");
    }
    pli_win_flush_local_all(w, "MPI_Win_unlock_all");
    enum pli_err rest = pli_region_flush_ucx_all(w->region);
    enum pli_err err = release_all(w);
    err = err == PLI_OK ? rest : err;
    rest = pli_region_flush_all(w->region); // without MPI_MODE_NOCHECK: nothing is left
    return err == PLI_OK ? rest : err;
}

// The same where accesses were loads and stores: nothing is waited for.
static enum pli_err release_all_near(struct pli_win *w)
{
    enum pli_err err = PLI_OK;
    atomic_thread_fence(memory_order_seq_cst); // MPI_MODE_NOCHECK: no lock is changed
    for (int i = 0; i < w->comm->size; i++) {
        struct pli_win_peer *p = &w->peers[i];
        if (p->hold != 0) {
            enum pli_err e = release_near(w, i, PLI_HOLD_SHARED);
            p->hold = 0;
            err = err == PLI_OK ? e : err;
        }
    }
    return err;
}

static enum pli_err acquire_all(struct pli_win *w)
{
    enum pli_err err = pli_rma_target_all_alive(w);
    if (err == PLI_OK) {
        err = ask_all(w, PLI_WIN_LOCK, PLI_HOLD_SHARED, must_ask, note_shared);
        if (err != PLI_OK) { // all or none
            struct pli_fail_saved why;
            pli_fail_save(&why, err);
            release_all(w);
            pli_fail_repeat(&why);
        }
    }
    return err;
}

enum pli_err pli_passive_lock_all(int assert, struct pli_win *w)
{
    enum pli_err err = pli_rma_target_check_assert(assert, MPI_MODE_NOCHECK);
    err = err == PLI_OK ? may_lock(w, "MPI_Win_lock_all") : err;
    if (err == PLI_OK && w->access == PLI_ACCESS_LOCK) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "this rank has locked %s already; MPI_Win_unlock must come before",
                       pli_win_say(w));
    }
    if (err == PLI_OK && (assert &MPI_MODE_NOCHECK) == 0) {
        err = acquire_all(w);
    }
    if (err == PLI_OK) {
        pli_win_set_access(w, PLI_ACCESS_LOCK_ALL);
        pli_win_set_fenced(w, false);
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
    enum pli_err err = w->is_all_near ? release_all_near(w) : release_all_flushed(w);
    pli_win_set_access(w, PLI_ACCESS_NONE);
    pli_win_flush_poll_after_near(w, w->is_all_near);
    err = err == PLI_OK && !w->is_all_near ? pli_win_flush_fault_all(w) : err;
    return err == PLI_OK ? pli_rma_target_all_alive(w) : err;
}

static bool is_held(const struct pli_win *w, int rank)
{
    int access = atomic_load_explicit(&w->access, memory_order_relaxed);
    return access == PLI_ACCESS_LOCK_ALL || (access == PLI_ACCESS_LOCK && w->peers[rank].hold != 0);
}

// A rank that can be flushed.
static enum pli_err may_flush(struct pli_win *w, int rank)
{
    enum pli_err err = pli_win_check_rank(w, rank);
    if (err != PLI_OK) {
        return err;
    }
    return is_held(w, rank)
               ? PLI_OK
               : pli_fail(PLI_ERR_RMA_SYNC,
                          "%s is not locked at rank %d: MPI_Win_lock or MPI_Win_lock_all must "
                          "come before a flush",
                          pli_win_say(w), rank);
}

// One of which nothing is waited for: accesses are loads and stores, and all members live.
static inline bool is_near_flush(const struct pli_win *w, int rank)
{
    return (unsigned)rank < (unsigned)w->comm->size && is_held(w, rank) && w->peers[rank].is_near &&
           !pli_failure_is_due();
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

static __attribute__((noinline)) enum pli_err flush_other(int rank, struct pli_win *w)
{
    if (rank == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = may_flush(w, rank);
    if (err == PLI_OK) {
        err = pli_win_flush(w, rank, "MPI_Win_flush");
        pli_win_flush_poll_at(w, rank);
    }
    return err;
}

enum pli_err pli_passive_flush(int rank, struct pli_win *w)
{
    if (__builtin_expect(!is_near_flush(w, rank), 0)) {
        return flush_other(rank, w);
    }
    atomic_thread_fence(memory_order_seq_cst);
    pli_win_flush_poll_at(w, rank);
    return PLI_OK;
}

enum pli_err pli_passive_flush_all(struct pli_win *w)
{
    enum pli_err err = may_flush_all(w);
    if (err == PLI_OK) {
        err = pli_win_flush_all(w, "MPI_Win_flush_all");
        pli_win_flush_poll(w);
        err = err == PLI_OK ? held_alive(w) : err;
    }
    return err;
}

static __attribute__((noinline)) enum pli_err flush_local_other(int rank, struct pli_win *w)
{
    if (rank == MPI_PROC_NULL) {
        return PLI_OK;
    }
    enum pli_err err = may_flush(w, rank);
    if (err == PLI_OK) {
        pli_win_flush_local(w, rank, "MPI_Win_flush_local");
        pli_win_flush_poll_at(w, rank);
        err = pli_win_flush_fault(w, rank);
        err = err == PLI_OK ? pli_rma_target_alive(w, rank) : err;
    }
    return err;
}

enum pli_err pli_passive_flush_local(int rank, struct pli_win *w)
{
    if (__builtin_expect(!is_near_flush(w, rank), 0)) {
        return flush_local_other(rank, w);
    }
    pli_win_flush_poll_at(w, rank);
    return PLI_OK;
}

enum pli_err pli_passive_flush_local_all(struct pli_win *w)
{
    enum pli_err err = may_flush_all(w);
    if (err == PLI_OK) {
        pli_win_flush_local_all(w, "MPI_Win_flush_local_all");
        pli_win_flush_poll(w);
        err = pli_win_flush_fault_all(w);
        err = err == PLI_OK ? held_alive(w) : err;
    }
    return err;
}
