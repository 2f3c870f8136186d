// SPDX-License-Identifier: BSD-3-Clause
// Memory in huge pages that several blocks share: one alone may be smaller than a huge page.
#ifndef PLI_BASE_HUGE_POOL_H
#define PLI_BASE_HUGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    PLI_HUGE_POOL_MIN = 1 << 19,  // smaller ones would take a huge page for little
    PLI_HUGE_POOL_END = 1 << 22,  // larger ones fill huge pages of their own
    PLI_HUGE_POOL_ALIGN = 1 << 16 // what blocks are aligned to
};

// NULL: no memory. Context of both: any thread.
void *pli_huge_pool_take(size_t size);
bool pli_huge_pool_give(void *p); // false: it is not of the pool

#endif
