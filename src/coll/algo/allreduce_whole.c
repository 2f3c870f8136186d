// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce of short vectors: each member shows its vector, and each that needs the
// result combines all of them, in the order of ranks. One meeting.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <string.h>

enum pli_err pli_allreduce_whole(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)(a->recv.count * a->recv.type->size);
    void *result = (void *)(uintptr_t)a->recv.buf;
    pli_board_begin(b, a, bytes);
    memcpy(pli_board_show(b), a->send.buf, bytes);
    if (pli_board_arrive(b)) {
        pli_board_release(b, pli_board_judge(b));
    }
    if (a->kind == PLI_COLL_REDUCE && a->root != b->me) {
        pli_board_leave(b);
        return PLI_OK;
    }
    enum pli_err err = pli_board_finish(b, a, bytes);
    if (err != PLI_OK) {
        return err;
    }
    memcpy(result, pli_board_window_of(b, b->n - 1), bytes);
    for (int i = b->n - 2; i >= 0; i--) {
        pli_op_apply(a->op, pli_board_window_of(b, i), result, a->recv.count, a->recv.type);
    }
    return PLI_OK;
}
