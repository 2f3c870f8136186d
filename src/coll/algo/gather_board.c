// SPDX-License-Identifier: BSD-3-Clause
// Gather of larger blocks on the board: each rank shows its block piece by piece in its window, and
// goes on; the root copies all of them.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_post.h"
#include "coll/board/board_window.h"
#include "coll/comm_state.h"
#include "coll/piece.h"
#include "obj/comm.h"

// The root copies what the others show.
static void collect(struct pli_board *b, const struct pli_coll_args *a, size_t done, size_t n)
{
    for (int i = 0; i < b->n; i++) {
        struct pli_block to = pli_blocks_at(&a->recv, i);
        if (i != b->me) {
            pli_piece_in(&to, done, pli_board_window_of(b, i), n);
        }
    }
}

static enum pli_err gather(struct pli_board *b, const struct pli_coll_args *a, size_t bytes)
{
    size_t most = b->window_half, done = 0;
    bool is_root = a->root == b->me;
    struct pli_block mine = { (void *)(uintptr_t)a->send.buf, a->send.count, a->send.type };
    do {
        size_t n = bytes - done < most ? bytes - done : most;
        pli_board_begin(b, a, bytes);
        if (!is_root) {
            pli_piece_out(&mine, done, pli_board_show(b), n);
        }
        if (pli_board_arrive(b)) {
            pli_board_release(b, pli_board_judge(b));
        }
        // Before a second piece all know that the sizes agree.
        bool must_finish = is_root || (done == 0 && n < bytes);
        enum pli_err err = must_finish ? pli_board_finish(b, a, bytes) : PLI_OK;
        if (err != PLI_OK) {
            return err;
        }
        if (is_root) {
            collect(b, a, done, n);
        } else if (!must_finish) {
            pli_board_leave(b);
        }
        done += n;
    } while (done < bytes);
    if (is_root && !a->is_in_place) {
        struct pli_block to = pli_blocks_at(&a->recv, b->me);
        pli_cursor_copy(mine.buf, mine.count, mine.type, to.buf, to.count, to.type);
    }
    return PLI_OK;
}

enum pli_err pli_gather_windows(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    enum pli_err err = pli_board_post_agree(b, a, bytes);
    if (err != PLI_OK) {
        return err == PLI_AGAIN ? PLI_OK : err; // the root tells of it
    }
    err = pli_board_widen(b, a, pli_board_window_need(a));
    return err == PLI_OK ? gather(b, a, bytes) : err;
}
