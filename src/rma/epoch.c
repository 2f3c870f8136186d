// SPDX-License-Identifier: BSD-3-Clause
// Fences, and the synchronisation by post, start, complete and wait.
// Fences are flushes and a barrier. Exposures are told by empty messages: of the target when it
// posts, of the origin when its accesses are done.
#include "rma/epoch.h"

#include "coll/coll.h"
#include "ft/failure.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "onesided/region_msg.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_flush.h"
#include "rma/win_wire.h"

#include <stdlib.h>

enum pli_err pli_epoch_fence(int assert, struct pli_win *w)
{
    enum pli_err err = pli_rma_target_check_assert(
        assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
    if (err == PLI_OK && w->access != PLI_ACCESS_FENCE) {
        err = pli_rma_target_no_epoch(w, "MPI_Win_fence");
    }
    if (err == PLI_OK && w->is_posted) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "%s is exposed by MPI_Win_post; MPI_Win_wait must come before MPI_Win_fence",
                       pli_win_say(w));
    }
    if (err == PLI_OK && w->access == PLI_ACCESS_FENCE && (assert &MPI_MODE_NOPRECEDE) != 0) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "MPI_MODE_NOPRECEDE says that no access came before, but %s has been "
                       "accessed since the last MPI_Win_fence",
                       pli_win_say(w));
    }
    if (err != PLI_OK) {
        return err;
    }
    err = pli_win_flush_all(w, "MPI_Win_fence");
    pli_region_msg_order(w->region);
    enum pli_err met = pli_coll_barrier(w->comm); // others wait there, whatever went wrong here
    pli_region_msg_order(w->region);
    pli_win_set_access(w, PLI_ACCESS_NONE);
    pli_win_set_fenced(w, (assert &MPI_MODE_NOSUCCEED) == 0);
    return err == PLI_OK ? met : err;
}

// The ranks in the window of a group's members; the caller frees them.
static enum pli_err ranks_of(const struct pli_win *w, struct pli_group *group, int **out)
{
    int n = group->size;
    int *from = calloc(2 * (size_t)n + 1, sizeof *from);
    if (from == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the ranks of a group");
    }
    int *to = from + n;
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    enum pli_err err = pli_group_translate_ranks(group, n, from, w->comm->group, to);
    for (int i = 0; i < n && err == PLI_OK; i++) {
        from[i] = to[i];
        if (to[i] == MPI_UNDEFINED) {
            err = pli_fail(PLI_ERR_GROUP, "rank %d of the group is not a member of %s", i,
                           pli_win_say(w));
        }
    }
    if (err != PLI_OK) {
        free(from);
        return err;
    }
    *out = from;
    return PLI_OK;
}

static __attribute__((cold)) enum pli_err report_lost(const struct pli_win *w, const char *what)
{
    char who[440];
    pli_failure_say_failed(w->comm, who, sizeof who);
    return pli_fail(PLI_ERR_PROC_FAILED, "%s of %s cannot be completed: %s", what, pli_win_say(w),
                    who);
}

// All of them are over; the first error. ranks[i] is -1 where no message came; NULL: it does not
// matter.
static enum pli_err wait_for(struct pli_win *w, struct pli_request **reqs, int *ranks, int n,
                             const char *what)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < n; i++) {
        enum pli_err e = PLI_ERR_PROC_FAILED;
        if (reqs[i] != NULL) {
            bool is_gone;
            pli_progress_wait(reqs[i]);
            e = pli_request_report(reqs[i], MPI_STATUS_IGNORE, &is_gone);
        }
        if (e != PLI_OK && ranks != NULL) {
            ranks[i] = -1;
        }
        err = err == PLI_OK ? e : err;
    }
    return pli_err_is_news(err) ? report_lost(w, what) : err;
}

// Begin to receive from all of them; NULL stands for one that has died.
static enum pli_err await_all(struct pli_win *w, const int *ranks, int n, uint32_t tag,
                              struct pli_request ***out)
{
    struct pli_request **reqs = malloc(((size_t)n + 1) * sizeof *reqs);
    enum pli_err err =
        reqs != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory to wait for %d ranks", n);
    int done = 0;
    while (done < n && err == PLI_OK) {
        reqs[done] = NULL;
        err = pli_region_msg_await(w->region, ranks[done], tag, &reqs[done]);
        err = pli_err_is_news(err) ? PLI_OK : err;
        done += err == PLI_OK;
    }
    if (err != PLI_OK) {
        for (int i = 0; i < done; i++) {
            if (reqs[i] != NULL) {
                reqs[i]->ops->cancel(reqs[i]);
                pli_request_forget(reqs[i]);
            }
        }
        free(reqs);
        return err;
    }
    *out = reqs;
    return PLI_OK;
}

enum pli_err pli_epoch_post(struct pli_group *group, int assert, struct pli_win *w)
{
    int *ranks;
    enum pli_err err =
        pli_rma_target_check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    if (err == PLI_OK && w->is_posted) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "%s is exposed already; MPI_Win_wait must come before MPI_Win_post",
                       pli_win_say(w));
    }
    if (err == PLI_OK && w->access == PLI_ACCESS_FENCE) {
        err = pli_rma_target_no_epoch(w, "MPI_Win_post");
    }
    err = err == PLI_OK ? ranks_of(w, group, &ranks) : err;
    if (err != PLI_OK) {
        return err;
    }
    err = await_all(w, ranks, group->size, PLI_WIN_TAG_COMPLETE, &w->posts);
    if (err == PLI_OK) {
        w->is_posted = true;
        pli_win_set_fenced(w, false);
        w->n_post = group->size;
        pli_region_msg_order(w->region);
        atomic_thread_fence(memory_order_seq_cst);
    }
    for (int i = 0; i < group->size && err == PLI_OK && (assert &MPI_MODE_NOCHECK) == 0; i++) {
        err = pli_region_msg_notify(w->region, ranks[i], PLI_WIN_TAG_POST);
        err = pli_err_is_news(err) ? PLI_OK : err; // it died just now: MPI_Win_wait says so
    }
    free(ranks);
    return err;
}

// Wait until all of them have exposed their memory, or see that they live.
static enum pli_err await_posts(struct pli_win *w, int *ranks, int n, int assert)
{
    struct pli_request **reqs = NULL;
    enum pli_err err = PLI_OK;
    if ((assert &MPI_MODE_NOCHECK) == 0) {
        err = await_all(w, ranks, n, PLI_WIN_TAG_POST, &reqs);
        err = err == PLI_OK ? wait_for(w, reqs, ranks, n, "an access") : err;
        free(reqs);
        return err;
    }
    for (int i = 0; i < n; i++) {
        enum pli_err e = pli_rma_target_alive(w, ranks[i]);
        ranks[i] = e == PLI_OK ? ranks[i] : -1;
        err = err == PLI_OK ? e : err;
    }
    return err;
}

// An access that could not be started everywhere is over for the members that have exposed their
// memory: they wait to be told.
static void cancel_access(struct pli_win *w, const int *ranks, int n)
{
    struct pli_fail_saved why;
    pli_fail_save(&why, PLI_ERR_PROC_FAILED);
    for (int i = 0; i < n; i++) {
        if (ranks[i] >= 0 &&
            pli_region_msg_notify(w->region, ranks[i], PLI_WIN_TAG_COMPLETE) != PLI_OK) {
            pli_fail_take(NULL); // dead too
        }
    }
    pli_fail_repeat(&why);
}

enum pli_err pli_epoch_start(struct pli_group *group, int assert, struct pli_win *w)
{
    int *ranks;
    enum pli_err err = pli_rma_target_check_assert(assert, MPI_MODE_NOCHECK);
    err = err == PLI_OK ? pli_rma_target_no_epoch(w, "MPI_Win_start") : err;
    err = err == PLI_OK ? ranks_of(w, group, &ranks) : err;
    if (err != PLI_OK) {
        return err;
    }
    err = await_posts(w, ranks, group->size, assert);
    if (pli_err_is_news(err)) {
        cancel_access(w, ranks, group->size);
    }
    if (err == PLI_OK) {
        for (int i = 0; i < group->size; i++) {
            w->peers[ranks[i]].is_started = true;
        }
        pli_win_set_fenced(w, false);
        pli_win_set_access(w, PLI_ACCESS_START);
        atomic_thread_fence(memory_order_seq_cst);
    }
    free(ranks);
    return err;
}

enum pli_err pli_epoch_complete(struct pli_win *w)
{
    if (w->access != PLI_ACCESS_START) {
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "no access to %s has been started: MPI_Win_start must come before",
                        pli_win_say(w));
    }
    enum pli_err err = pli_win_flush_hand_over(w, "MPI_Win_complete");
    for (int i = 0; i < w->comm->size; i++) {
        if (w->peers[i].is_started) {
            enum pli_err e = pli_region_msg_notify(w->region, i, PLI_WIN_TAG_COMPLETE);
            e = e == PLI_OK ? pli_rma_target_alive(w, i) : e;
            err = err == PLI_OK ? e : err;
            w->peers[i].is_started = false;
        }
    }
    pli_win_set_access(w, PLI_ACCESS_NONE);
    return err;
}

static enum pli_err not_posted(const struct pli_win *w)
{
    return pli_fail(PLI_ERR_RMA_SYNC, "%s is not exposed: MPI_Win_post must come before",
                    pli_win_say(w));
}

enum pli_err pli_epoch_wait(struct pli_win *w)
{
    if (!w->is_posted) {
        return not_posted(w);
    }
    enum pli_err err = wait_for(w, w->posts, NULL, w->n_post, "the exposure");
    free(w->posts);
    w->posts = NULL;
    w->is_posted = false;
    atomic_thread_fence(memory_order_seq_cst);
    pli_region_msg_order(w->region);
    return err;
}

enum pli_err pli_epoch_test(struct pli_win *w, int *flag_out)
{
    if (!w->is_posted) {
        return not_posted(w);
    }
    pli_win_flush_sync(w);
    bool is_done = true;
    for (int i = 0; i < w->n_post && is_done; i++) {
        is_done = w->posts[i] == NULL || pli_request_is_done(w->posts[i]);
    }
    *flag_out = is_done;
    return is_done ? pli_epoch_wait(w) : PLI_OK;
}
