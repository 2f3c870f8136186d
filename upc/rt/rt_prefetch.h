// SPDX-License-Identifier: BSD-3-Clause
// Far data that was read ahead.
#ifndef PLI_UPC_RT_PREFETCH_H
#define PLI_UPC_RT_PREFETCH_H

#include "include/pli_upc_ptr.h"

#include <stddef.h>

// This thread has written there: what it reads next must be that.
void pli_rt_prefetch_drop(pli_upc_pts to, size_t len);

#endif
