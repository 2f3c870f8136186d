// SPDX-License-Identifier: BSD-3-Clause
// Alltoall through the windows: each rank shows a piece for every other rank and takes what is for
// it. In place needs no copy: a piece is shown before what takes its place is read. Where the
// blocks for all are short they are in the slot, which the others look at anyway.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/piece.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"
#include "obj/cursor.h"

enum { ALIGN = 64 };

// Show n bytes of the block for every other rank, from `done` on.
static void show(const struct pli_board *b, const struct pli_blocks *from, size_t done,
                 unsigned char *shown, size_t n)
{
    for (int k = 1; k < b->n; k++) {
        int i = (b->me + k) % b->n;
        struct pli_block out = pli_blocks_at(from, i);
        pli_piece_out(&out, done, shown + (size_t)i * n, n);
    }
}

static void take(const struct pli_board *b, const struct pli_coll_args *a, int i, size_t done,
                 const unsigned char *shown, size_t n)
{
    struct pli_block in = pli_blocks_at(&a->recv, i);
    pli_piece_in(&in, done, shown + (size_t)b->me * n, n);
}

static void copy_own(const struct pli_board *b, const struct pli_coll_args *a)
{
    if (!a->is_in_place) {
        struct pli_block out = pli_blocks_at(&a->send, b->me), in = pli_blocks_at(&a->recv, b->me);
        pli_cursor_copy(out.buf, out.count, out.type, in.buf, in.count, in.type);
    }
}

enum pli_err pli_alltoall_slots(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    show(b, a->is_in_place ? &a->recv : &a->send, 0, pli_board_begin(b, a, bytes)->data, bytes);
    enum pli_err err = pli_board_meet(b, a, bytes);
    if (err != PLI_OK) {
        return err;
    }
    for (int k = 1; k < b->n; k++) {
        int i = (b->me + k) % b->n;
        take(b, a, i, 0, pli_board_slot(b, i)->data, bytes);
    }
    copy_own(b, a);
    return PLI_OK;
}

enum pli_err pli_alltoall_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    size_t most = b->window_half / (size_t)b->n;
    most = most > ALIGN ? most / ALIGN * ALIGN : most;
    const struct pli_blocks *from = a->is_in_place ? &a->recv : &a->send;
    size_t done = 0;
    do {
        size_t n = bytes - done < most ? bytes - done : most;
        pli_board_begin(b, a, bytes);
        show(b, from, done, pli_board_show(b), n);
        enum pli_err err = pli_board_meet(b, a, bytes);
        if (err != PLI_OK) {
            return err;
        }
        for (int k = 1; k < b->n; k++) {
            int i = (b->me + k) % b->n;
            take(b, a, i, done, pli_board_window_of(b, i), n);
        }
        done += n;
    } while (done < bytes);
    copy_own(b, a);
    return PLI_OK;
}
