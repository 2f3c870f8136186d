// SPDX-License-Identifier: BSD-3-Clause
// Leaving UCX: it has threads, descriptors and memory that no image and no clone can have.
#ifndef PLI_NET_UCX_QUIESCE_H
#define PLI_NET_UCX_QUIESCE_H

#include <stdbool.h>

// Leave it, with the help of all whom it connects with this process: there is nothing of it here
// until pli_ucx_quiesce_end. False: it cannot be left, and pli_ucx_quiesce_end is not called.
// Context: no lock held.
bool pli_ucx_quiesce_begin(void);
void pli_ucx_quiesce_end(void);

// Whether there is nothing of UCX in this process. Context: any.
bool pli_ucx_quiesce_is_calm(void);

#endif
