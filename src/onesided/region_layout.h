// SPDX-License-Identifier: BSD-3-Clause
// What a datatype means at another member: runs of bytes, cut into pieces that fit a message.
#ifndef PLI_ONESIDED_REGION_LAYOUT_H
#define PLI_ONESIDED_REGION_LAYOUT_H

#include "obj/cursor.h"
#include "onesided/region_wire.h"

#include <stdbool.h>

struct pli_region_layout {
    struct pli_cursor cursor;
    const struct pli_region_elem *elem; // whole elements only; NULL: bytes
};

// Elements of an accumulation on this predefined type.
struct pli_region_elem pli_region_layout_elem(const struct pli_datatype *type);
static inline bool pli_region_layout_is_split(const struct pli_region_elem *e)
{
    return e->first != e->size;
}

// Where the bytes are that (count, type) describes, from `at` on: the first `bytes` of them.
void pli_region_layout_init(struct pli_region_layout *l, int64_t at, MPI_Count count,
                            const struct pli_datatype *type, const struct pli_region_elem *elem,
                            size_t bytes);
// The next blocks, at most max of them with at most room bytes. Returns their bytes, 0: no more.
size_t pli_region_layout_next(struct pli_region_layout *l, struct pli_region_block *blocks, int max,
                              size_t room, int *n_out);

// The lowest and the highest place that (count, type) touches; false: it touches none.
bool pli_region_layout_bounds(MPI_Count count, const struct pli_datatype *type, int64_t *from_out,
                              int64_t *to_out);

#endif
