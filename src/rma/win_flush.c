// SPDX-License-Identifier: BSD-3-Clause
// Completes accesses to a window, locally or at the target.
// Local completion is that of the operations here; remote completion is that of the region, after
// it. Accesses that failed are reported by whatever synchronises next.
#include "rma/win_flush.h"

#include "msg/endpoint.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "onesided/region.h"
#include "onesided/region_msg.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_ring.h"

enum pli_err pli_win_flush_fault(struct pli_win *w, int rank)
{
    enum pli_err err = pli_region_fault(w->region, rank);
    return err == PLI_OK ? PLI_OK
                         : pli_fail(err, "an access to %s at rank %d failed: %s", pli_win_say(w),
                                    rank, pli_err_text(err));
}

enum pli_err pli_win_flush_fault_all(struct pli_win *w)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < w->comm->size; i++) {
        if (err == PLI_OK) {
            err = pli_win_flush_fault(w, i);
        } else {
            pli_region_fault(w->region, i);
        }
    }
    return err;
}

void pli_win_flush_ring(struct pli_win *w, int rank, const char *call)
{
    pli_win_ring_flush(w, rank, call);
}

void pli_win_flush_local(struct pli_win *w, int rank, const char *call)
{
    pli_win_ring_flush_local(w, rank, call);
    pli_region_complete_local(w->region, rank, call);
}

void pli_win_flush_local_all(struct pli_win *w, const char *call)
{
    for (int i = 0; i < w->comm->size; i++) {
        pli_win_flush_local(w, i, call);
    }
}

enum pli_err pli_win_flush(struct pli_win *w, int rank, const char *call)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (w->peers[rank].is_near) { // accesses were loads and stores
        return pli_rma_target_alive(w, rank);
    }
    pli_win_ring_flush(w, rank, call);
    pli_win_flush_local(w, rank, call);
    enum pli_err err = pli_region_flush(w->region, rank);
    err = err == PLI_OK ? pli_win_flush_fault(w, rank) : err;
    return err == PLI_OK ? pli_rma_target_alive(w, rank) : err;
}

static enum pli_err flush_all(struct pli_win *w, const char *call,
                              void (*flush_ring)(struct pli_win *w, int rank, const char *call))
{
    atomic_thread_fence(memory_order_seq_cst);
    if (w->is_all_near) { // accesses were loads and stores
        return PLI_OK;
    }
    for (int i = 0; i < w->comm->size; i++) {
        flush_ring(w, i, call);
    }
    pli_win_flush_local_all(w, call);
    enum pli_err err = pli_region_flush_all(w->region);
    return err == PLI_OK ? pli_win_flush_fault_all(w) : err;
}

enum pli_err pli_win_flush_all(struct pli_win *w, const char *call)
{
    return flush_all(w, call, pli_win_ring_flush);
}

enum pli_err pli_win_flush_hand_over(struct pli_win *w, const char *call)
{
    return flush_all(w, call, pli_win_ring_hand_over);
}

void pli_win_flush_poll(struct pli_win *w)
{
    pli_region_msg_order(w->region);
    pli_progress_test_memory(w->comm->ep->lane);
    pli_region_msg_order(w->region);
}

enum pli_err pli_win_flush_poll_after(enum pli_err err, struct pli_win *w, int rank)
{
    if (err == PLI_OK && rank != MPI_PROC_NULL && w->peers[rank].is_near) {
        pli_win_flush_poll_at(w, rank);
    }
    return err;
}

enum pli_err pli_win_flush_sync(struct pli_win *w)
{
    atomic_thread_fence(memory_order_seq_cst);
    pli_win_flush_poll(w);
    atomic_thread_fence(memory_order_seq_cst);
    return PLI_OK;
}
