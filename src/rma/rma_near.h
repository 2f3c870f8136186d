// SPDX-License-Identifier: BSD-3-Clause
// The usual access in a few instructions: a run of bytes in memory of this host.
#ifndef PLI_RMA_RMA_NEAR_H
#define PLI_RMA_RMA_NEAR_H

#include "ft/failure.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "rma/win.h"

// Where a run of bytes of a near member is, in an epoch that is open. NULL: it is something else,
// or wrong; pli_rma_target_find tells.
static inline char *pli_rma_near_at(const struct pli_win *w, int rank, MPI_Aint disp,
                                    MPI_Count count, const struct pli_datatype *type, size_t *bytes)
{
    int64_t at;
    if ((unsigned)rank >= (unsigned)w->comm->size || !type->is_dense || pli_failure_is_due()) {
        return NULL;
    }
    const struct pli_win_peer *p = &w->peers[rank];
    int access = atomic_load_explicit(&w->access, memory_order_relaxed);
    bool is_open = access == PLI_ACCESS_LOCK_ALL || access == PLI_ACCESS_FENCE ||
                   (access == PLI_ACCESS_LOCK && p->hold != 0) ||
                   (access == PLI_ACCESS_START && p->is_started);
    if (!is_open || !p->is_near || w->flavor == MPI_WIN_FLAVOR_DYNAMIC || disp < 0 ||
        !pli_datatype_bytes(type, count, bytes) || __builtin_mul_overflow(disp, p->unit, &at) ||
        __builtin_add_overflow(at, type->true_lb, &at) || at < 0 || (uint64_t)at > p->size ||
        *bytes > p->size - (uint64_t)at) {
        return NULL;
    }
    return (char *)(p->base + (uintptr_t)at);
}

#endif
