// SPDX-License-Identifier: BSD-3-Clause
// Allgather through the windows: each rank shows a piece of its block and copies the others'.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/piece.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"

enum pli_err pli_allgather_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    struct pli_block own = pli_blocks_at(&a->recv, b->me);
    struct pli_block mine = own;
    if (!a->is_in_place) {
        mine = (struct pli_block){ (void *)(uintptr_t)a->send.buf, a->send.count, a->send.type };
    }
    size_t done = 0;
    do {
        size_t n = bytes - done < b->window_half ? bytes - done : b->window_half;
        pli_board_begin(b, a, bytes);
        unsigned char *shown = pli_board_show(b);
        pli_piece_out(&mine, done, shown, n);
        if (!a->is_in_place) {
            pli_piece_in(&own, done, shown, n); // now, while it is in the cache
        }
        enum pli_err err = pli_board_meet(b, a, bytes);
        if (err != PLI_OK) {
            return err;
        }
        for (int k = 1; k < b->n; k++) {
            int i = (b->me + k) % b->n;
            struct pli_block to = pli_blocks_at(&a->recv, i);
            pli_piece_in(&to, done, pli_board_window_of(b, i), n);
        }
        done += n;
    } while (done < bytes);
    return PLI_OK;
}
