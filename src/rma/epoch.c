// SPDX-License-Identifier: BSD-3-Clause
// Fences, and the synchronisation by post, start, complete and wait.
// Fences are flushes and a barrier. The target tells of an exposure when it posts, the origin when
// its accesses are done.
#include "rma/epoch.h"

#include "coll/coll.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "obj/group_index.h"
#include "onesided/region_msg.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_epoch.h"
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

// The members of a group.
static enum pli_err list_members(const struct pli_win *w, struct pli_group *group,
                                 struct pli_win_members *out)
{
    const struct pli_group *all = w->comm->group;
    enum pli_err err = pli_group_check_session(group, all);
    if (err == PLI_OK && !pli_win_epoch_reserve(out, group->size)) {
        err = PLI_ERR_NOMEM;
    }
    pli_group_index_expect(w->comm->group, group->size);
    for (int i = 0; i < group->size && err == PLI_OK; i++) {
        out->at[i].rank = pli_group_rank_of(all, pli_group_at(group, i));
        if (out->at[i].rank < 0) {
            err = pli_fail(PLI_ERR_GROUP, "rank %d of the group is not a member of %s", i,
                           pli_win_say(w));
        }
    }
    out->n = err == PLI_OK ? group->size : 0;
    return err;
}

enum pli_err pli_epoch_post(struct pli_group *group, int assert, struct pli_win *w)
{
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
    err = err == PLI_OK ? list_members(w, group, &w->posted) : err;
    err = err == PLI_OK ? pli_win_epoch_await(w, &w->posted, PLI_WIN_TAG_COMPLETE) : err;
    if (err != PLI_OK) {
        return err;
    }
    w->is_posted = true;
    pli_win_set_fenced(w, false);
    pli_region_msg_order(w->region);
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < w->posted.n && err == PLI_OK && (assert &MPI_MODE_NOCHECK) == 0; i++) {
        err = pli_win_epoch_tell(w, w->posted.at[i].rank, PLI_WIN_TAG_POST);
        err = pli_err_is_news(err) ? PLI_OK : err; // it died just now: MPI_Win_wait says so
    }
    return err;
}

// Wait until all of them have exposed their memory, or see that they live.
static enum pli_err await_posts(struct pli_win *w, struct pli_win_members *m, int assert)
{
    enum pli_err err = PLI_OK;
    if ((assert &MPI_MODE_NOCHECK) == 0) {
        err = pli_win_epoch_await(w, m, PLI_WIN_TAG_POST);
        return err == PLI_OK ? pli_win_epoch_wait(w, m, PLI_WIN_TAG_POST, "an access") : err;
    }
    for (int i = 0; i < m->n; i++) {
        enum pli_err e = pli_rma_target_alive(w, m->at[i].rank);
        m->at[i].rank = e == PLI_OK ? m->at[i].rank : -1;
        err = err == PLI_OK ? e : err;
    }
    return err;
}

// An access that could not be started everywhere is over for the members that have exposed their
// memory: they wait to be told.
static void cancel_access(struct pli_win *w, const struct pli_win_members *m)
{
    struct pli_fail_saved why;
    pli_fail_save(&why, PLI_ERR_PROC_FAILED);
    for (int i = 0; i < m->n; i++) {
        int rank = m->at[i].rank;
        if (rank >= 0 && pli_win_epoch_tell(w, rank, PLI_WIN_TAG_COMPLETE) != PLI_OK) {
            pli_fail_take(NULL); // dead too
        }
    }
    pli_fail_repeat(&why);
}

enum pli_err pli_epoch_start(struct pli_group *group, int assert, struct pli_win *w)
{
    struct pli_win_members *m = &w->started;
    enum pli_err err = pli_rma_target_check_assert(assert, MPI_MODE_NOCHECK);
    err = err == PLI_OK ? pli_rma_target_no_epoch(w, "MPI_Win_start") : err;
    err = err == PLI_OK ? list_members(w, group, m) : err;
    if (err != PLI_OK) {
        return err;
    }
    err = await_posts(w, m, assert);
    if (pli_err_is_news(err)) {
        cancel_access(w, m);
    }
    if (err == PLI_OK) {
        for (int i = 0; i < m->n; i++) {
            w->peers[m->at[i].rank].is_started = true;
        }
        pli_win_set_fenced(w, false);
        pli_win_set_access(w, PLI_ACCESS_START);
        atomic_thread_fence(memory_order_seq_cst);
    }
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
    for (int i = 0; i < w->started.n; i++) {
        int rank = w->started.at[i].rank;
        enum pli_err e = pli_win_epoch_tell(w, rank, PLI_WIN_TAG_COMPLETE);
        e = e == PLI_OK ? pli_rma_target_alive(w, rank) : e;
        err = err == PLI_OK ? e : err;
        w->peers[rank].is_started = false;
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
    enum pli_err err = pli_win_epoch_wait(w, &w->posted, PLI_WIN_TAG_COMPLETE, "the exposure");
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
    bool is_done = pli_win_epoch_is_over(&w->posted);
    *flag_out = is_done;
    return is_done ? pli_epoch_wait(w) : PLI_OK;
}
