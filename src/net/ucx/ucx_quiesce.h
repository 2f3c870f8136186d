// SPDX-License-Identifier: BSD-3-Clause
// Leaving UCX: it has threads, descriptors and memory that no image and no clone can have.
#ifndef PLI_NET_UCX_QUIESCE_H
#define PLI_NET_UCX_QUIESCE_H

#include <stdbool.h>

// Leave it, with the help of all whom it connects with this process: there is nothing of it here
// until pli_ucxcalm_end. False: it cannot be left, and pli_ucxcalm_end is not called. Context: no
// lock held.
bool pli_ucxcalm_begin(void);
void pli_ucxcalm_end(void);

// Whether there is nothing of UCX in this process. Context: any.
bool pli_ucxcalm_is_calm(void);

#endif
