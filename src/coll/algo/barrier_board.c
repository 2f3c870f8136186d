// SPDX-License-Identifier: BSD-3-Clause
// Barrier on the board of one host.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/comm_state.h"

enum pli_err pli_barrier_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    pli_board_begin(b, a, 0);
    return b->is_oversubscribed && !b->is_flat ? pli_board_meet_led(b, a) : pli_board_meet(b, a, 0);
}
