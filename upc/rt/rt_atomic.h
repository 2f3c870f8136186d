// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations on a word of shared memory, near or far.
#ifndef PLI_UPC_RT_ATOMIC_H
#define PLI_UPC_RT_ATOMIC_H

#include "rt.h"

#include "onesided/region_type.h"

// type: enum pli_region_type. fetch: where the old value goes, or NULL.
void pli_rt_atomic_run(pli_upc_pts target, int type, enum pli_region_op op, const void *a,
                       const void *b, void *fetch);

#endif
