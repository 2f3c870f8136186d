// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv through the windows: each rank shows a piece of its block and copies the
// others'. A short block is in the slot, which the others look at anyway.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/piece.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"

static size_t bytes_of(const struct pli_block *b)
{
    return (size_t)(b->count * b->type->size);
}

// Of what is left of a block from `done` on, as much as a window has room for.
static size_t piece(const struct pli_board *b, size_t bytes, size_t done)
{
    size_t left = bytes > done ? bytes - done : 0;
    return left < b->window_half ? left : b->window_half;
}

static size_t longest_of(const struct pli_coll_args *a, int n)
{
    size_t longest = 0;
    for (int i = 0; i < n; i++) {
        struct pli_block block = pli_blocks_at(&a->recv, i);
        longest = bytes_of(&block) > longest ? bytes_of(&block) : longest;
    }
    return longest;
}

// The block to show. It has as many bytes as others count on, those of its place in the result.
static struct pli_block given(const struct pli_coll_args *a, const struct pli_block *own)
{
    if (a->is_in_place) {
        return *own;
    }
    struct pli_block mine = pli_blocks_one(&a->send);
    if (bytes_of(&mine) != bytes_of(own)) {
        pli_cursor_copy(mine.buf, mine.count, mine.type, own->buf, own->count, own->type);
        return *own;
    }
    return mine;
}

// Show a piece, and copy it to its place in the result while it is in the cache.
static void show(const struct pli_block *mine, const struct pli_block *own, size_t done,
                 unsigned char *shown, size_t n)
{
    pli_piece_out(mine, done, shown, n);
    if (mine->buf != own->buf) {
        pli_piece_in(own, done, shown, n);
    }
}

enum pli_err pli_allgather_slots(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    struct pli_block own = pli_blocks_at(&a->recv, b->me), mine = given(a, &own);
    show(&mine, &own, 0, pli_board_begin(b, a, bytes)->data, bytes);
    enum pli_err err = pli_board_meet(b, a, bytes);
    for (int k = 1; k < b->n && err == PLI_OK; k++) {
        int i = (b->me + k) % b->n;
        struct pli_block to = pli_blocks_at(&a->recv, i);
        pli_piece_in(&to, 0, pli_board_slot(b, i)->data, bytes);
    }
    return err;
}

enum pli_err pli_allgather_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a), done = 0;
    bool is_even = a->kind == PLI_COLL_ALLGATHER;
    size_t longest = is_even ? bytes : longest_of(a, b->n);
    struct pli_block own = pli_blocks_at(&a->recv, b->me), mine = given(a, &own);
    do {
        size_t n = piece(b, bytes_of(&own), done);
        pli_board_begin(b, a, bytes);
        show(&mine, &own, done, pli_board_show(b), n);
        enum pli_err err = pli_board_meet(b, a, bytes);
        if (err != PLI_OK) {
            return err;
        }
        for (int k = 1; k < b->n; k++) {
            int i = (b->me + k) % b->n;
            struct pli_block to = pli_blocks_at(&a->recv, i);
            pli_piece_in(&to, done, pli_board_window_of(b, i), piece(b, bytes_of(&to), done));
        }
        done += b->window_half;
    } while (done < longest);
    return PLI_OK;
}
