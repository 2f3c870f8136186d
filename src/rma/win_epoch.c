// SPDX-License-Identifier: BSD-3-Clause
// Tells members of exposures that begin and accesses that end, and waits for what they tell.
// To a member of this host that is one more in a word, as a message of no bytes takes several times
// as long as the line of a word from core to core.
#include "rma/win_epoch.h"

#include "base/cpu.h"
#include "boot/boot.h"
#include "ft/failure.h"
#include "msg/arena.h"
#include "msg/endpoint.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "onesided/region_msg.h"
#include "rma/win.h"
#include "rma/win_flush.h"
#include "rma/win_wire.h"

#include <stdlib.h>

enum { LOOKS = 64 }; // at a word, before other work of the lane gets its turn at each

void pli_win_epoch_make(struct pli_win *w, int n)
{
    w->epochs = pli_arena_take((size_t)n * sizeof *w->epochs);
}

uint64_t pli_win_epoch_offset(const struct pli_win *w)
{
    return w->epochs != NULL ? pli_arena_offset(w->epochs) : 0;
}

// Whether accesses to a member's memory are loads and stores, by what it tells, so that nothing is
// left to be done there when they are over.
static bool is_shared(const struct pli_win_member *c)
{
    return c->where == PLI_MEMORY_SEGMENT || c->where == PLI_MEMORY_ARENA;
}

// Both sides see the same. In jobs that survive deaths there are messages, which end with an error
// when the other side dies.
void pli_win_epoch_connect(const struct pli_win *w, int rank, const struct pli_win_member *infos)
{
    struct pli_win_peer *p = &w->peers[rank];
    struct pli_id id = pli_group_at(w->comm->group, rank);
    uint64_t theirs = infos[rank].arena & ~(uint64_t)PLI_WIN_ARENA_GUARD;
    uint32_t row;
    if (pli_request_may_be_withdrawn || !pli_boot_shares(&pli_boot, id.proc, &row)) {
        return;
    }
    bool is_same = id.proc == w->comm->group->me.proc;
    p->sleeps_at = pli_shm_box(&pli_boot.node, row, (int)(id.ep % PLI_NODE_N_LANE));
    if (theirs != 0) {
        p->theirs = (struct pli_win_epoch_wire *)pli_arena_at(theirs) + w->comm->rank;
        p->may_complete = is_same || is_shared(&infos[rank]);
    }
    if (w->epochs != NULL) {
        p->mine = &w->epochs[rank];
        p->is_completed = is_same || is_shared(&infos[w->comm->rank]);
    }
}

bool pli_win_epoch_reserve(struct pli_win_members *m, int n)
{
    if (n > m->cap) {
        struct pli_win_awaited *more = realloc(m->at, (size_t)n * sizeof *more);
        if (more == NULL) {
            pli_fail(PLI_ERR_NOMEM, "no memory to wait for %d ranks", n);
            return false;
        }
        m->at = more;
        m->cap = n;
    }
    return true;
}

enum pli_err pli_win_epoch_tell(struct pli_win *w, int rank, uint32_t tag)
{
    struct pli_win_peer *p = &w->peers[rank];
    _Atomic uint32_t *word = NULL;
    enum pli_err err = PLI_OK;
    if (tag == PLI_WIN_TAG_POST) {
        word = p->mine != NULL ? &p->mine->posted : NULL;
    } else if (p->may_complete) {
        word = &p->theirs->completed;
        err = p->is_near ? PLI_OK : pli_win_flush(w, rank, "MPI_Win_complete");
    }
    if (word == NULL) {
        return pli_region_msg_notify(w->region, rank, tag);
    }
    uint32_t n = atomic_load_explicit(word, memory_order_relaxed); // this member alone changes it
    atomic_store_explicit(word, n + 1, memory_order_release);
    pli_shm_wake(p->sleeps_at);
    return err;
}

// Say what is awaited of a member. A message is received; one that has died is no error yet.
static enum pli_err begin(struct pli_win *w, struct pli_win_awaited *a, uint32_t tag)
{
    struct pli_win_peer *p = &w->peers[a->rank];
    bool is_post = tag == PLI_WIN_TAG_POST;
    a->message = NULL;
    a->word = is_post && p->theirs != NULL  ? &p->theirs->posted
              : !is_post && p->is_completed ? &p->mine->completed
                                            : NULL;
    a->n_before = is_post ? &p->n_posted : &p->n_completed;
    if (a->word != NULL) {
        return PLI_OK;
    }
    enum pli_err err = pli_region_msg_await(w->region, a->rank, tag, &a->message);
    return pli_err_is_news(err) ? PLI_OK : err;
}

enum pli_err pli_win_epoch_await(struct pli_win *w, struct pli_win_members *m, uint32_t tag)
{
    enum pli_err err = PLI_OK;
    int done = 0;
    while (done < m->n && err == PLI_OK) {
        err = begin(w, &m->at[done], tag);
        done += err == PLI_OK;
    }
    for (int i = 0; i < done && err != PLI_OK; i++) {
        struct pli_request *r = m->at[i].message;
        if (r != NULL) {
            r->ops->cancel(r);
            pli_request_forget(r);
        }
    }
    return err;
}

static inline bool has_come(const struct pli_win_awaited *a)
{
    return (int32_t)(atomic_load_explicit(a->word, memory_order_acquire) - *a->n_before) > 0;
}

// What the record of a long wait says, as of the receive of a message.
static const struct pli_request_ops word_ops = {
    .name = "receive",
    .has_peer = true,
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

static __attribute__((noinline)) void wait_long(struct pli_win *w, const struct pli_win_awaited *a,
                                                uint32_t tag)
{
    struct pli_lane *lane = w->comm->ep->lane;
    struct pli_request r = { .ops = &word_ops,
                             .lane = lane,
                             .comm = w->comm,
                             .item = { .source = a->rank, .tag = (int32_t)tag } };
    struct pli_waiter wait = { .lane = lane, .request = &r, .n_request = 1 };
    while (!has_come(a)) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

// Where threads share the lane its mailbox is not looked at without the lock, and each look at the
// word is followed by one at that.
static void wait_word(struct pli_win *w, const struct pli_win_awaited *a, uint32_t tag)
{
    struct pli_lane *lane = w->comm->ep->lane;
    uint32_t spins = pli_lock_threads ? 0 : pli_progress_spins();
    uint32_t left = spins < LOOKS ? spins : LOOKS;
    while (!has_come(a) && left > 0) {
        if (__builtin_expect(pli_shm_peek(&lane->shm) != NULL, 0)) {
            pli_progress_once(lane);
        }
        pli_cpu_relax();
        left--;
    }
    if (!has_come(a)) {
        wait_long(w, a, tag);
    }
    ++*a->n_before;
}

static __attribute__((cold)) enum pli_err report_lost(const struct pli_win *w, const char *what)
{
    char who[440];
    pli_failure_say_failed(w->comm, who, sizeof who);
    return pli_fail(PLI_ERR_PROC_FAILED, "%s of %s cannot be completed: %s", what, pli_win_say(w),
                    who);
}

static enum pli_err wait_message(struct pli_request *r)
{
    bool is_gone;
    if (r == NULL) {
        return PLI_ERR_PROC_FAILED;
    }
    pli_progress_wait(r);
    return pli_request_report(r, MPI_STATUS_IGNORE, &is_gone);
}

enum pli_err pli_win_epoch_wait(struct pli_win *w, struct pli_win_members *m, uint32_t tag,
                                const char *what)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < m->n; i++) {
        struct pli_win_awaited *a = &m->at[i];
        if (a->word != NULL) {
            wait_word(w, a, tag);
            continue;
        }
        enum pli_err e = wait_message(a->message);
        a->rank = e == PLI_OK ? a->rank : -1;
        err = err == PLI_OK ? e : err;
    }
    return pli_err_is_news(err) ? report_lost(w, what) : err;
}

bool pli_win_epoch_is_over(const struct pli_win_members *m)
{
    bool is_over = true;
    for (int i = 0; i < m->n && is_over; i++) {
        const struct pli_win_awaited *a = &m->at[i];
        is_over =
            a->word != NULL ? has_come(a) : a->message == NULL || pli_request_is_done(a->message);
    }
    return is_over;
}
