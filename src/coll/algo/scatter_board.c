// SPDX-License-Identifier: BSD-3-Clause
// Scatter through the ring of the board: an entry has a piece of every rank's block, and each rank
// copies its own.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_ring.h"
#include "coll/comm_state.h"
#include "coll/piece.h"
#include "obj/comm.h"

// Of each rank's block, in one entry. Small ones lie close together, in the line that comes first.
static size_t piece_of(const struct pli_board *b, size_t whole, size_t bytes)
{
    size_t each = whole / (size_t)b->n, needed = (bytes + 7) / 8 * 8;
    return needed < each ? needed : each;
}

static enum pli_err give(struct pli_board *b, const struct pli_coll_args *a, size_t bytes)
{
    size_t whole = pli_board_ring_piece(b, bytes * (size_t)b->n), done = 0;
    size_t piece = piece_of(b, whole, bytes);
    do {
        unsigned char *to;
        enum pli_err err = pli_board_ring_next(b, a, bytes, whole, &to);
        if (err != PLI_OK) {
            return err;
        }
        size_t n = bytes - done < piece ? bytes - done : piece;
        for (int i = 0; i < b->n; i++) {
            struct pli_block from = pli_blocks_at(&a->send, i);
            if (i != b->me) {
                pli_piece_out(&from, done, to + (size_t)i * piece, n);
            }
        }
        done += n;
        pli_board_ring_publish(b);
    } while (done < bytes);
    pli_board_ring_close(b);
    if (!a->is_in_place) {
        struct pli_block from = pli_blocks_at(&a->send, b->me);
        if (from.type->is_dense && bytes > 0 &&
            bytes == (size_t)(a->recv.count * a->recv.type->size)) {
            struct pli_block to = pli_blocks_one(&a->recv);
            pli_piece_in(&to, 0, (const char *)from.buf + from.type->true_lb, bytes);
        } else {
            pli_cursor_copy(from.buf, from.count, from.type, (void *)(uintptr_t)a->recv.buf,
                            a->recv.count, a->recv.type);
        }
    }
    return PLI_OK;
}

enum pli_err pli_scatter_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a), done = 0, total = 0;
    b->what = pli_board_what(a);
    if (a->root == b->me) {
        return give(b, a, bytes);
    }
    struct pli_block mine = pli_blocks_one(&a->recv);
    do {
        struct pli_board_ring_view v;
        enum pli_err err = pli_board_ring_read(b, a, &v);
        if (err != PLI_OK) {
            return err;
        }
        size_t piece = piece_of(b, v.piece, v.bytes);
        size_t n = v.bytes - done < piece ? v.bytes - done : piece;
        size_t room = bytes > done ? bytes - done : 0;
        pli_piece_in(&mine, done, v.data + (size_t)b->me * piece, n < room ? n : room);
        pli_board_ring_done(b, a->root);
        total = v.bytes;
        done += n;
    } while (done < total);
    return total == bytes
               ? PLI_OK
               : pli_fail(PLI_ERR_TRUNC,
                          "scatter on %s: rank %d sends %zu bytes where this rank expects %zu",
                          pli_comm_say(a->comm), a->root, total, bytes);
}
