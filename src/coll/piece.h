// SPDX-License-Identifier: BSD-3-Clause
// Pieces of a block's packed stream, to and from plain memory.
#ifndef PLI_COLL_PIECE_H
#define PLI_COLL_PIECE_H

#include "coll/coll_args.h"
#include "obj/cursor.h"

#include <string.h>

// n bytes of the stream from `done` on. Context: any thread.
static inline void pli_piece_out(const struct pli_block *b, size_t done, void *to, size_t n)
{
    if (b->type->is_dense) {
        memcpy(to, (const char *)b->buf + b->type->true_lb + done, n);
    } else if (n > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, b->buf, b->count, b->type);
        pli_cursor_seek(&c, done);
        pli_cursor_pack(&c, to, n);
    }
}

static inline void pli_piece_in(const struct pli_block *b, size_t done, const void *from, size_t n)
{
    if (b->type->is_dense) {
        memcpy((char *)b->buf + b->type->true_lb + done, from, n);
    } else if (n > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, b->buf, b->count, b->type);
        pli_cursor_seek(&c, done);
        pli_cursor_unpack(&c, from, n);
    }
}

#endif
