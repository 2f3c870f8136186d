// SPDX-License-Identifier: BSD-3-Clause
// Copies between private and shared memory, near or far.
#ifndef PLI_UPC_RT_COPY_H
#define PLI_UPC_RT_COPY_H

#include "rt.h"

void pli_rt_copy_get(void *to, pli_upc_pts from, size_t n);
void pli_rt_copy_put(pli_upc_pts to, const void *from, size_t n);

// Transfers under way that get one handle together. It begins as { 0 }.
struct rt_batch {
    void **handles;
    size_t n, cap;
};
// A handle that is NULL, or of another batch, may be added too.
void pli_rt_copy_batch_add(struct rt_batch *b, void *handle);
// The common handle, which is waited for once; NULL: all are over.
void *pli_rt_copy_batch_end(struct rt_batch *b);

#endif
