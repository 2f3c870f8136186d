// SPDX-License-Identifier: BSD-3-Clause
// Turns a datatype into the blocks that it describes at a member.
// A cursor walks through the datatype; runs of one length, one step apart, become one block.
#include "onesided/region_layout.h"

#include "obj/cursor.h"
#include "obj/datatype.h"

#include <sys/uio.h>

enum { BATCH = 64 };

struct pli_region_elem pli_region_layout_elem(const struct pli_datatype *type)
{
    struct pli_cursor c;
    struct iovec part[2];
    int n;
    uint16_t size = (uint16_t)type->size;
    struct pli_region_elem e = { type->number, type->index, size, size, size };
    if (type->index == 0) {
        return e;
    }
    pli_cursor_init(&c, NULL, 1, type);
    pli_cursor_iov(&c, part, 2, (size_t)type->size, &n);
    e.first = (uint16_t)part[0].iov_len;
    e.second = n > 1 ? (uint16_t)((char *)part[1].iov_base - (char *)part[0].iov_base) : e.first;
    return e;
}

void pli_region_layout_init(struct pli_region_layout *l, int64_t at, MPI_Count count,
                            const struct pli_datatype *type, const struct pli_region_elem *elem,
                            size_t bytes)
{
    pli_cursor_init(&l->cursor, (void *)(uintptr_t)at, count, type);
    l->cursor.total = bytes < l->cursor.total ? bytes : l->cursor.total;
    l->elem = elem;
}

// The next runs, which are whole elements: a pair with a hole is one.
static int next_runs(struct pli_region_layout *l, struct iovec *iov, size_t room)
{
    struct pli_cursor *c = &l->cursor;
    size_t unit = l->elem != NULL ? l->elem->size : 1, left = c->total - c->done;
    size_t len = (room < left ? room : left) / unit * unit;
    int n = 0;
    if (len == 0) {
        return 0;
    }
    if (l->elem == NULL || !pli_region_layout_is_split(l->elem)) {
        pli_cursor_iov(c, iov, BATCH, len, &n);
        return n;
    }
    size_t at = c->done;
    pli_cursor_iov(c, iov, 1, unit, &n);
    iov[0].iov_len = unit;
    pli_cursor_seek(c, at + unit);
    return n;
}

size_t pli_region_layout_next(struct pli_region_layout *l, struct pli_region_block *blocks, int max,
                              size_t room, int *n_out)
{
    struct iovec iov[BATCH];
    size_t bytes = 0;
    int n = 0, k;
    bool is_full = false;
    while (!is_full && (k = next_runs(l, iov, room - bytes)) > 0) {
        for (int i = 0; i < k && !is_full; i++) {
            if (pli_region_block_add(blocks, &n, max, (int64_t)(uintptr_t)iov[i].iov_base,
                                     iov[i].iov_len)) {
                bytes += iov[i].iov_len;
                continue;
            }
            is_full = true;
            for (int j = i; j < k; j++) { // those come again
                pli_cursor_seek(&l->cursor, l->cursor.done - iov[j].iov_len);
            }
        }
    }
    *n_out = n;
    return bytes;
}

bool pli_region_layout_bounds(MPI_Count count, const struct pli_datatype *type, int64_t *from_out,
                              int64_t *to_out)
{
    if (count == 0 || type->size == 0) {
        return false;
    }
    int64_t span = (count - 1) * type->extent;
    *from_out = type->true_lb + (span < 0 ? span : 0);
    *to_out = type->true_lb + type->true_extent + (span > 0 ? span : 0);
    return true;
}
