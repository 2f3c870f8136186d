// SPDX-License-Identifier: BSD-3-Clause
// A window's part of one-sided access: which bytes others may reach, and by what.
#include "rma/win_region.h"

#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/progress_thread.h"
#include "obj/comm.h"
#include "onesided/region.h"
#include "rma/win.h"
#include "rma/win_attach.h"
#include "rma/win_lock.h"

// Whether the progress thread serves members that reach memory of this one by messages.
static bool must_serve(const struct pli_win *w)
{
    bool must = false, is_target = !w->is_first_only || w->comm->rank == 0;
    for (int i = 0; i < w->comm->size && !must && is_target; i++) {
        uint32_t row;
        must = !w->peers[i].is_near &&
               pli_progress_thread_serves(
                   pli_boot_is_here(pli_proc.boot, pli_group_at(w->comm->group, i).proc, &row));
    }
    return must;
}

static bool has(void *arg, int64_t at, uint64_t len)
{
    return pli_win_attach_has(arg, at, len);
}

// Whether messages about rings are served (win_ring_serve.c). Nobody is at that when this returns.
static void set_open(struct pli_win *w, bool is_open)
{
    struct pli_lane *lane = w->comm->ep->lane;
    pli_lock_take(&lane->lock);
    atomic_store_explicit(&w->is_open, is_open, memory_order_release);
    pli_lock_drop(&lane->lock);
}

enum pli_err pli_win_region_open(struct pli_win *w)
{
    bool is_dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    struct pli_region_plan plan = { .comm = w->comm,
                                    .base = is_dynamic ? NULL : w->base,
                                    .size = (size_t)w->size,
                                    .has_thread = must_serve(w),
                                    .may_register = !is_dynamic,
                                    .guard = w->guard,
                                    .has = has,
                                    .on_message = pli_win_lock_message,
                                    .arg = w };
    for (int i = 0; i < w->comm->size; i++) {
        plan.has_far = plan.has_far || !w->peers[i].is_near;
    }
    enum pli_err err = pli_win_lock_open(w);
    err = err == PLI_OK ? pli_region_create(&plan, &w->region) : err;
    if (err == PLI_OK) {
        pli_win_lock_listen(w);
        set_open(w, true);
    }
    return err;
}

void pli_win_region_close(struct pli_win *w)
{
    if (atomic_load_explicit(&w->is_open, memory_order_relaxed)) {
        set_open(w, false);
    }
    pli_win_lock_stop(w);
    pli_region_destroy(w->region);
    w->region = NULL;
    pli_win_lock_close(w);
}
