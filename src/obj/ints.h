// SPDX-License-Identifier: BSD-3-Clause
// An array of int or of 64-bit integers, as the plain and the large-count functions pass it.
#ifndef PLI_OBJ_INTS_H
#define PLI_OBJ_INTS_H

#include <stdbool.h>
#include <stdint.h>

struct pli_ints {
    const void *data; // may be NULL where the argument is not significant
    bool is_wide;
};

static inline int64_t pli_ints_at(struct pli_ints a, int64_t i)
{
    return a.is_wide ? ((const int64_t *)a.data)[i] : ((const int *)a.data)[i];
}

#endif
