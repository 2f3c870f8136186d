// SPDX-License-Identifier: BSD-3-Clause
// Allocation in heaps that are mapped here.
#ifndef PLI_UPC_RT_ALLOC_H
#define PLI_UPC_RT_ALLOC_H

#include "rt.h"
#include "rt_barrier.h"

// is_sym: from the symmetric heap. Returns 0 when there is no room.
uint64_t pli_rt_alloc_take(int owner, bool is_sym, uint64_t bytes);
// Returns what is wrong with the pointer, or NULL when it was freed.
const char *pli_rt_alloc_free(int owner, uint64_t at);
// Collective: returns p of thread 0 at every thread.
pli_upc_pts pli_rt_alloc_share(pli_upc_pts p, enum rt_what what);

#endif
