// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation of windows that span clients: fences, exposures, locks and flushes.
#include "shim/shim_plan.h"
#include "shim/shim_win.h"
#include <stdlib.h>
#include <string.h>

static const char *const wrong_epoch =
    "another epoch of this window is open, or none that this call "
    "could end";
static const char *const refused_there = "an access to a window was outside of the target's memory";

static int sync_error(void)
{
    return pli_shim_fail(MPI_ERR_RMA_SYNC, wrong_epoch);
}

static int check_rank(const struct shim_win *w, int rank)
{
    return rank >= 0 && rank < w->span->size
               ? MPI_SUCCESS
               : pli_shim_fail(MPI_ERR_RANK, "no such rank in a window that spans clients");
}

int pli_shim_win_sync_may(struct shim_win *w, int rank)
{
    int rc = check_rank(w, rank);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (w->access == SHIM_ACCESS_NONE && w->is_fenced) {
        w->access = SHIM_ACCESS_FENCE;
    }
    bool may = w->access == SHIM_ACCESS_FENCE || w->access == SHIM_ACCESS_LOCK_ALL ||
               (w->access == SHIM_ACCESS_START && w->peer[rank].is_started) ||
               (w->access == SHIM_ACCESS_LOCK && w->peer[rank].hold != 0);
    return may ? MPI_SUCCESS
               : pli_shim_fail(MPI_ERR_RMA_SYNC, "no access epoch of this window is open for the "
                                                 "target");
}

// A question, and where its answer goes.
struct question {
    struct shim_req *req;
    struct pli_win_lock_reply reply;
    uint64_t sent;
    int rank;
};

static int wait_answer(struct shim_win *w, struct question *q)
{
    struct shim_win_peer *p = &w->peer[q->rank];
    int rc = pli_shim_req_wait(q->req);
    pli_shim_req_destroy(q->req);
    p->sure = p->sure > q->sent ? p->sure : q->sent;
    return rc == MPI_SUCCESS && q->reply.err != 0 ? pli_shim_fail(MPI_ERR_RMA_RANGE, refused_there)
                                                  : rc;
}

// hold: 0 for a flush.
static int ask(struct shim_win *w, int rank, int kind, int hold, struct question *q)
{
    struct pli_win_lock_msg text = { (uint16_t)kind, (uint16_t)hold, 0 };
    size_t len = hold == 0 ? 0 : sizeof text;
    struct pli_region_msg *m = pli_shim_win_msg_new(
        hold == 0 ? PLI_REGION_MSG_FLUSH : PLI_REGION_MSG_ASK, NULL, 0, sizeof text);
    if (m != NULL) {
        memcpy(m->data, &text, len);
    }
    *q = (struct question){ .rank = rank, .sent = w->peer[rank].sent };
    return pli_shim_win_msg_ask(w, rank, m, len, &q->reply,
                                hold == 0 ? sizeof q->reply.err : sizeof q->reply, &q->req);
}

// Ask those members for whom `want` holds, all at once; the first error.
static int ask_all(struct shim_win *w, int kind, int hold,
                   bool (*want)(const struct shim_win_peer *p))
{
    int n = 0, rc = MPI_SUCCESS;
    struct question *q = malloc((size_t)w->span->size * sizeof *q);
    if (q == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < w->span->size && rc == MPI_SUCCESS; i++) {
        if (want(&w->peer[i])) {
            rc = ask(w, i, kind, hold, &q[n]);
            n += rc == MPI_SUCCESS;
        }
    }
    for (int i = 0; i < n; i++) {
        int its = wait_answer(w, &q[i]);
        rc = rc == MPI_SUCCESS ? its : rc;
    }
    free(q);
    return rc;
}

// Operations that use memory here are over.
static void complete_local(struct shim_win *w, int rank)
{
    struct shim_pace pace = { 0 };
    while (w->peer[rank].n_open > 0) {
        pli_shim_req_progress(&pace);
        if (w->peer[rank].n_open > 0) {
            pli_shim_link_pause(&pace, true);
        }
    }
}

static int take_fault(struct shim_win *w, int rank)
{
    int rc = w->peer[rank].fault;
    w->peer[rank].fault = MPI_SUCCESS;
    return rc;
}

static bool is_unsure(const struct shim_win_peer *p)
{
    return p->sure < p->sent;
}

static int complete_all(struct shim_win *w)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < w->span->size; i++) {
        complete_local(w, i);
        int its = take_fault(w, i);
        rc = rc == MPI_SUCCESS ? its : rc;
    }
    return rc;
}

int pli_shim_win_sync_flush(struct shim_win *w, int rank)
{
    struct question q;
    if (rank < 0) {
        int rc = complete_all(w);
        int asked = ask_all(w, 0, 0, is_unsure);
        return rc == MPI_SUCCESS ? asked : rc;
    }
    complete_local(w, rank);
    int rc = take_fault(w, rank);
    if (is_unsure(&w->peer[rank])) {
        int asked = ask(w, rank, 0, 0, &q);
        asked = asked == MPI_SUCCESS ? wait_answer(w, &q) : asked;
        rc = rc == MPI_SUCCESS ? asked : rc;
    }
    return rc;
}

static int fence(struct shim_win *w, int assert)
{
    if ((w->access != SHIM_ACCESS_NONE && w->access != SHIM_ACCESS_FENCE) || w->n_post >= 0) {
        return sync_error();
    }
    int rc = pli_shim_win_sync_flush(w, -1);
    int met = pli_shim_plan_barrier(w->span); // others wait there, whatever went wrong here
    w->access = SHIM_ACCESS_NONE;
    w->is_fenced = (assert &MPI_MODE_NOSUCCEED) == 0;
    return rc == MPI_SUCCESS ? met : rc;
}

PLI_SHIM_API int MPI_Win_fence(int assert, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL ? PLI_SHIM_OUTSIDE(PMPI_Win_fence(assert, win))
                     : pli_shim_win_end(w, fence(w, assert));
}

// The ranks in the window of a group's members; to be freed.
static int ranks_of(const struct shim_win *w, MPI_Group group, int **out, int *n_out)
{
    struct shim_group g;
    int rc = pli_shim_group_list(group, &g);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    int *rank = malloc(((size_t)g.n + 1) * sizeof *rank);
    rc = rank == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 0; i < g.n && rc == MPI_SUCCESS; i++) {
        rank[i] = pli_shim_span_rank_of(w->span, g.world[i]);
        rc = rank[i] < 0 ? MPI_ERR_GROUP : MPI_SUCCESS;
    }
    free(g.world);
    if (rc != MPI_SUCCESS) {
        free(rank);
        return rc;
    }
    *out = rank;
    *n_out = g.n;
    return MPI_SUCCESS;
}

static int await_all(struct shim_win *w, const int *rank, int n, uint32_t tag,
                     struct shim_req ***out)
{
    int rc = MPI_SUCCESS;
    struct shim_req **r = malloc(((size_t)n + 1) * sizeof *r);
    if (r == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        rc = pli_shim_win_msg_await(w, rank[i], tag, NULL, 0, &r[i]);
    }
    *out = r;
    return rc;
}

static int wait_all(struct shim_req **r, int n)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        int its = pli_shim_req_wait(r[i]);
        rc = rc == MPI_SUCCESS ? its : rc;
        pli_shim_req_destroy(r[i]);
    }
    free(r);
    return rc;
}

static int notify(struct shim_win *w, int rank, uint32_t tag)
{
    void *none = malloc(1);
    return none == NULL ? MPI_ERR_NO_MEM : pli_shim_win_msg_send(w, rank, tag, none, 0);
}

static int post(struct shim_win *w, MPI_Group group, int assert)
{
    int *rank, n,
        rc = w->n_post >= 0 || w->access == SHIM_ACCESS_FENCE ? sync_error() : MPI_SUCCESS;
    rc = rc == MPI_SUCCESS ? ranks_of(w, group, &rank, &n) : rc;
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = await_all(w, rank, n, PLI_WIN_TAG_COMPLETE, &w->posts);
    w->n_post = n;
    w->is_fenced = false;
    for (int i = 0; i < n && rc == MPI_SUCCESS && (assert &MPI_MODE_NOCHECK) == 0; i++) {
        rc = notify(w, rank[i], PLI_WIN_TAG_POST);
    }
    free(rank);
    return rc;
}

PLI_SHIM_API int MPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL ? PMPI_Win_post(group, assert, win)
                     : pli_shim_win_end(w, post(w, group, assert));
}

static int start(struct shim_win *w, MPI_Group group, int assert)
{
    int *rank, n, rc = w->access != SHIM_ACCESS_NONE ? sync_error() : MPI_SUCCESS;
    struct shim_req **posts;
    rc = rc == MPI_SUCCESS ? ranks_of(w, group, &rank, &n) : rc;
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if ((assert &MPI_MODE_NOCHECK) == 0) {
        rc = await_all(w, rank, n, PLI_WIN_TAG_POST, &posts);
        rc = rc == MPI_SUCCESS ? wait_all(posts, n) : rc;
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        w->peer[rank[i]].is_started = true;
    }
    w->is_fenced = false;
    w->access = rc == MPI_SUCCESS ? SHIM_ACCESS_START : w->access;
    free(rank);
    return rc;
}

PLI_SHIM_API int MPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL ? PLI_SHIM_OUTSIDE(PMPI_Win_start(group, assert, win))
                     : pli_shim_win_end(w, start(w, group, assert));
}

static int complete(struct shim_win *w)
{
    if (w->access != SHIM_ACCESS_START) {
        return sync_error();
    }
    int rc = pli_shim_win_sync_flush(w, -1);
    for (int i = 0; i < w->span->size; i++) {
        if (w->peer[i].is_started) {
            int its = notify(w, i, PLI_WIN_TAG_COMPLETE);
            rc = rc == MPI_SUCCESS ? its : rc;
            w->peer[i].is_started = false;
        }
    }
    w->access = SHIM_ACCESS_NONE;
    return rc;
}

PLI_SHIM_API int MPI_Win_complete(MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL ? PLI_SHIM_OUTSIDE(PMPI_Win_complete(win)) : pli_shim_win_end(w, complete(w));
}

static int end_exposure(struct shim_win *w)
{
    int rc = wait_all(w->posts, w->n_post);
    w->posts = NULL;
    w->n_post = -1;
    return rc;
}

PLI_SHIM_API int MPI_Win_wait(MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL ? PLI_SHIM_OUTSIDE(PMPI_Win_wait(win))
                     : pli_shim_win_end(w, w->n_post < 0 ? sync_error() : end_exposure(w));
}

PLI_SHIM_API int MPI_Win_test(MPI_Win win, int *flag)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PMPI_Win_test(win, flag);
    }
    if (w->n_post < 0) {
        return pli_shim_win_end(w, sync_error());
    }
    pli_shim_req_progress(NULL);
    *flag = 1;
    for (int i = 0; i < w->n_post; i++) {
        *flag = *flag != 0 && pli_shim_req_test(w->posts[i]);
    }
    return *flag != 0 ? pli_shim_win_end(w, end_exposure(w)) : MPI_SUCCESS;
}

static int lock(struct shim_win *w, int type, int rank, int assert)
{
    struct question q;
    int hold = type == MPI_LOCK_SHARED ? PLI_HOLD_SHARED : PLI_HOLD_EXCLUSIVE;
    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE) {
        return MPI_ERR_LOCKTYPE;
    }
    int rc = check_rank(w, rank);
    if (rc == MPI_SUCCESS && ((w->access != SHIM_ACCESS_NONE && w->access != SHIM_ACCESS_LOCK) ||
                              w->peer[rank].hold != 0)) {
        rc = sync_error();
    }
    if (rc == MPI_SUCCESS && (assert &MPI_MODE_NOCHECK) == 0) {
        rc = ask(w, rank, PLI_WIN_LOCK, hold, &q);
        rc = rc == MPI_SUCCESS ? wait_answer(w, &q) : rc;
    }
    if (rc == MPI_SUCCESS) {
        w->peer[rank].hold = (uint8_t)hold;
        w->peer[rank].is_unchecked = (assert &MPI_MODE_NOCHECK) != 0;
        w->n_hold++;
        w->access = SHIM_ACCESS_LOCK;
        w->is_fenced = false;
    }
    return rc;
}

PLI_SHIM_API int MPI_Win_lock(int type, int rank, int assert, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_lock(type, rank, assert, win));
    }
    return rank == MPI_PROC_NULL ? MPI_SUCCESS : pli_shim_win_end(w, lock(w, type, rank, assert));
}

static int unlock(struct shim_win *w, int rank)
{
    struct question q;
    int rc = check_rank(w, rank);
    if (rc != MPI_SUCCESS || w->access != SHIM_ACCESS_LOCK || w->peer[rank].hold == 0) {
        return rc != MPI_SUCCESS ? rc : sync_error();
    }
    struct shim_win_peer *p = &w->peer[rank];
    if (p->is_unchecked) {
        rc = pli_shim_win_sync_flush(w, rank);
    } else {
        complete_local(w, rank); // its answer comes after all messages before it
        rc = take_fault(w, rank);
        int asked = ask(w, rank, PLI_WIN_UNLOCK, p->hold, &q);
        asked = asked == MPI_SUCCESS ? wait_answer(w, &q) : asked;
        rc = rc == MPI_SUCCESS ? asked : rc;
    }
    p->hold = 0;
    w->access = --w->n_hold == 0 ? SHIM_ACCESS_NONE : w->access;
    return rc;
}

PLI_SHIM_API int MPI_Win_unlock(int rank, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_unlock(rank, win));
    }
    return rank == MPI_PROC_NULL ? MPI_SUCCESS : pli_shim_win_end(w, unlock(w, rank));
}

static bool is_any(const struct shim_win_peer *p)
{
    (void)p;
    return true;
}

static bool is_held(const struct shim_win_peer *p)
{
    return p->hold != 0;
}

static void hold_all(struct shim_win *w, uint8_t hold)
{
    for (int i = 0; i < w->span->size; i++) {
        w->peer[i].hold = hold;
    }
}

PLI_SHIM_API int MPI_Win_lock_all(int assert, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_lock_all(assert, win));
    }
    int rc = w->access != SHIM_ACCESS_NONE ? sync_error() : MPI_SUCCESS;
    if (rc == MPI_SUCCESS && (assert &MPI_MODE_NOCHECK) == 0) {
        rc = ask_all(w, PLI_WIN_LOCK, PLI_HOLD_SHARED, is_any);
        hold_all(w, PLI_HOLD_SHARED);
    }
    if (rc == MPI_SUCCESS) {
        w->access = SHIM_ACCESS_LOCK_ALL;
        w->is_fenced = false;
    }
    return pli_shim_win_end(w, rc);
}

PLI_SHIM_API int MPI_Win_unlock_all(MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_unlock_all(win));
    }
    if (w->access != SHIM_ACCESS_LOCK_ALL) {
        return pli_shim_win_end(w, sync_error());
    }
    int rc = complete_all(w);
    int asked = ask_all(w, PLI_WIN_UNLOCK, PLI_HOLD_SHARED, is_held);
    asked = asked == MPI_SUCCESS ? ask_all(w, 0, 0, is_unsure) : asked;
    hold_all(w, 0);
    w->access = SHIM_ACCESS_NONE;
    return pli_shim_win_end(w, rc == MPI_SUCCESS ? asked : rc);
}

// rank -1: all.
static int may_flush(const struct shim_win *w, int rank)
{
    int rc = rank < 0 ? MPI_SUCCESS : check_rank(w, rank);
    bool may = w->access == SHIM_ACCESS_LOCK_ALL ||
               (w->access == SHIM_ACCESS_LOCK && (rank < 0 || w->peer[rank].hold != 0));
    return rc == MPI_SUCCESS && !may ? sync_error() : rc;
}

static int flush(struct shim_win *w, int rank, bool is_local)
{
    int rc = may_flush(w, rank);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (!is_local) {
        return pli_shim_win_sync_flush(w, rank);
    }
    for (int i = 0; i < w->span->size; i++) {
        if (rank < 0 || i == rank) {
            complete_local(w, i);
        }
    }
    return MPI_SUCCESS;
}

#define FLUSH(name, is_local)                                                                      \
    PLI_SHIM_API int MPI_Win_##name(int rank, MPI_Win win)                                         \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        if (w == NULL) {                                                                           \
            return PLI_SHIM_OUTSIDE(PMPI_Win_##name(rank, win));                                   \
        }                                                                                          \
        return rank == MPI_PROC_NULL                                                               \
                   ? MPI_SUCCESS                                                                   \
                   : pli_shim_win_end(w, flush(w, rank < 0 ? w->span->size : rank, is_local));     \
    }                                                                                              \
    PLI_SHIM_API int MPI_Win_##name##_all(MPI_Win win)                                             \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL ? PLI_SHIM_OUTSIDE(PMPI_Win_##name##_all(win))                            \
                         : pli_shim_win_end(w, flush(w, -1, is_local));                            \
    }
FLUSH(flush, false)
FLUSH(flush_local, true)

PLI_SHIM_API int MPI_Win_sync(MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PMPI_Win_sync(win);
    }
    pli_shim_req_progress(NULL);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return MPI_SUCCESS;
}
