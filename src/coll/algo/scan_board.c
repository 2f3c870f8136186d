// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan of short vectors: each rank shows its vector and combines those of the ranks
// before it, in the order of ranks. One meeting.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_window.h"
#include "coll/comm_state.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <string.h>

enum pli_err pli_scan_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)(a->recv.count * a->recv.type->size);
    void *result = (void *)(uintptr_t)a->recv.buf;
    int last = a->kind == PLI_COLL_EXSCAN ? b->me - 1 : b->me;
    pli_board_begin(b, a, bytes);
    memcpy(pli_board_show(b), a->send.buf, bytes);
    enum pli_err err = pli_board_meet(b, a, bytes);
    if (err != PLI_OK || last < 0) { // exscan leaves the result of rank 0 alone
        return err;
    }
    memcpy(result, pli_board_window_of(b, last), bytes);
    for (int i = last - 1; i >= 0; i--) {
        pli_op_apply(a->op, pli_board_window_of(b, i), result, a->recv.count, a->recv.type);
    }
    return PLI_OK;
}
