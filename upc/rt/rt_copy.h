// SPDX-License-Identifier: BSD-3-Clause
// Copies between private and shared memory, near or far.
#ifndef PLI_UPC_RT_COPY_H
#define PLI_UPC_RT_COPY_H

#include "rt.h"

void pli_rt_copy_get(void *to, pli_upc_pts from, size_t n);
void pli_rt_copy_put(pli_upc_pts to, const void *from, size_t n);

#endif
