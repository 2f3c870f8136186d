// SPDX-License-Identifier: BSD-3-Clause
// Heaps inside the segments.
#ifndef PLI_UPC_RT_HEAP_H
#define PLI_UPC_RT_HEAP_H

#include "rt.h"

// The space at `base` of the segment `seg`, managed by *h.
struct rt_space {
    struct rt_heap *h;
    char *seg;
    uint64_t base, end;
    bool is_sym;
};

// Returns 0 when there is no room.
uint64_t pli_rt_heap_take(const struct rt_space *s, uint64_t bytes, int me);
// Returns what is wrong with the pointer, or NULL when it was given back.
const char *pli_rt_heap_give(const struct rt_space *s, uint64_t at, int me);

#endif
