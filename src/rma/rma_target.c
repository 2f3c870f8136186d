// SPDX-License-Identifier: BSD-3-Clause
// Checks of an access before anything happens: rank, epoch, range, and whether the target lives.
#include "rma/rma_target.h"

#include "ft/failure.h"
#include "obj/comm.h"
#include "onesided/region_layout.h"
#include "rma/win_attach.h"

enum pli_err pli_rma_target_check_assert(int assert, int allowed)
{
    return (assert & ~allowed) == 0
               ? PLI_OK
               : pli_fail(PLI_ERR_ASSERT,
                          "argument assert is %d, which has bits that this call does not know",
                          assert);
}

enum pli_err pli_rma_target_no_epoch(const struct pli_win *w, const char *what)
{
    switch ((enum pli_win_access)w->access) {
    case PLI_ACCESS_FENCE:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s has been accessed since the last MPI_Win_fence; another MPI_Win_fence "
                        "must come before %s",
                        pli_win_say(w), what);
    case PLI_ACCESS_START:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "an access to %s has been started; MPI_Win_complete must come before %s",
                        pli_win_say(w), what);
    case PLI_ACCESS_LOCK:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s is locked at %d rank%s; MPI_Win_unlock must come before %s",
                        pli_win_say(w), w->n_hold, w->n_hold == 1 ? "" : "s", what);
    case PLI_ACCESS_LOCK_ALL:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s is locked at all ranks; MPI_Win_unlock_all must come before %s",
                        pli_win_say(w), what);
    default:
        return PLI_OK;
    }
}

static __attribute__((cold)) enum pli_err check_dead(const struct pli_win *w, int rank)
{
    char who[440];
    if (pli_failure_failed_at(pli_group_at(w->comm->group, rank).proc) == 0) {
        return PLI_OK;
    }
    pli_failure_say_failed(w->comm, who, sizeof who);
    return pli_fail(PLI_ERR_PROC_FAILED, "%s cannot be accessed at rank %d: %s", pli_win_say(w),
                    rank, who);
}

enum pli_err pli_rma_target_alive(const struct pli_win *w, int rank)
{
    return pli_failure_is_due() ? check_dead(w, rank) : PLI_OK;
}

enum pli_err pli_rma_target_all_alive(const struct pli_win *w)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < w->comm->size && err == PLI_OK && pli_failure_is_due(); i++) {
        err = check_dead(w, i);
    }
    return err;
}

static __attribute__((cold)) enum pli_err no_epoch(const struct pli_win *w, int rank)
{
    switch ((enum pli_win_access)w->access) {
    case PLI_ACCESS_START:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "rank %d is not in the group of MPI_Win_start, so %s cannot be accessed "
                        "there",
                        rank, pli_win_say(w));
    case PLI_ACCESS_LOCK:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "%s is not locked at rank %d: MPI_Win_lock must come before",
                        pli_win_say(w), rank);
    default:
        return pli_fail(PLI_ERR_RMA_SYNC,
                        "no access epoch of %s is open: MPI_Win_fence, MPI_Win_start, MPI_Win_lock "
                        "or MPI_Win_lock_all must come before",
                        pli_win_say(w));
    }
}

static bool may_access(struct pli_win *w, const struct pli_win_peer *p)
{
    switch ((enum pli_win_access)w->access) {
    case PLI_ACCESS_FENCE:
    case PLI_ACCESS_LOCK_ALL:
        return true;
    case PLI_ACCESS_START:
        return p->is_started;
    case PLI_ACCESS_LOCK:
        return p->hold != 0;
    default:
        if (w->is_fenced) {
            pli_win_set_access(w, PLI_ACCESS_FENCE);
        }
        return w->is_fenced;
    }
}

static __attribute__((cold)) enum pli_err out_of_range(const struct pli_win *w, int rank,
                                                       int64_t from, int64_t to)
{
    if (w->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        return pli_fail(PLI_ERR_RMA_RANGE,
                        "%lld bytes from address %#llx on are not all attached to %s at rank %d",
                        (long long)(to - from), (unsigned long long)from, pli_win_say(w), rank);
    }
    return pli_fail(PLI_ERR_RMA_RANGE,
                    "bytes %lld to %lld are accessed, but %s has %llu bytes at rank %d",
                    (long long)from, (long long)to - 1, pli_win_say(w),
                    (unsigned long long)w->peers[rank].size, rank);
}

enum pli_err pli_rma_target_find(struct pli_win *w, int rank, MPI_Aint disp, MPI_Count count,
                                 struct pli_datatype *type, struct pli_rma_target *out)
{
    int64_t from, to;
    if (rank == MPI_PROC_NULL) {
        out->peer = NULL;
        return PLI_OK;
    }
    if (__builtin_expect((unsigned)rank >= (unsigned)w->comm->size, 0)) {
        return pli_win_check_rank(w, rank);
    }
    struct pli_win_peer *p = &w->peers[rank];
    if (__builtin_expect(!may_access(w, p), 0)) {
        return no_epoch(w, rank);
    }
    enum pli_err err = pli_rma_target_alive(w, rank);
    if (__builtin_expect(err != PLI_OK, 0)) {
        return err;
    }
    bool is_dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    if (__builtin_expect(disp < 0 && !is_dynamic, 0)) {
        return pli_fail(PLI_ERR_DISP, "argument target_disp is %lld, but must not be negative",
                        (long long)disp);
    }
    int64_t at = 0;
    bool is_over = __builtin_mul_overflow(disp, is_dynamic ? 1 : p->unit, &at) ||
                   !pli_datatype_bytes(type, count, &out->bytes);
    if (!is_over && pli_region_layout_bounds(count, type, &from, &to)) {
        from += at;
        to += at;
        is_over = is_dynamic
                      ? p->same != NULL && !pli_win_attach_has(p->same, from, (uint64_t)(to - from))
                      : from < 0 || (uint64_t)to > p->size;
    } else {
        from = to = at;
    }
    if (__builtin_expect(is_over, 0)) {
        return out_of_range(w, rank, from, to);
    }
    out->peer = p;
    out->rank = rank;
    out->at = at;
    out->count = count;
    out->type = type;
    return PLI_OK;
}
