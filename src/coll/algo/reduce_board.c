// SPDX-License-Identifier: BSD-3-Clause
// Reductions of a few bytes, which fit the slots. Flat: each rank that needs the result
// combines all slots. Central: the last one to arrive does, and shows it. Always in the order of
// ranks, so the result has the same bits everywhere and every time.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/comm_state.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <string.h>

static void combine(struct pli_board *b, const struct pli_coll_args *a, void *to, size_t bytes)
{
    memcpy(to, pli_board_slot(b, b->n - 1)->data, bytes);
    for (int i = b->n - 2; i >= 0; i--) {
        pli_op_apply(a->op, pli_board_slot(b, i)->data, to, a->recv.count, a->recv.type);
    }
}

static enum pli_err reduce(const struct pli_coll_args *a, bool is_taker)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)(a->recv.count * a->recv.type->size);
    void *result = (void *)(uintptr_t)a->recv.buf;
    struct pli_board_slot *mine = pli_board_begin(b, a, bytes);
    memcpy(mine->data, a->send.buf, bytes);
    if (pli_board_arrive(b)) {
        enum pli_board_error error = pli_board_judge(b);
        if (error == PLI_BOARD_FINE) {
            combine(b, a, b->w->result.data, bytes);
        }
        pli_board_release(b, error);
    }
    if (!is_taker) {
        pli_board_leave(b);
        return PLI_OK;
    }
    enum pli_err err = pli_board_finish(b, a, bytes);
    if (err == PLI_OK && b->is_flat) {
        combine(b, a, result, bytes);
    } else if (err == PLI_OK) {
        memcpy(result, b->w->result.data, bytes);
    }
    return err;
}

enum pli_err pli_reduce_board(const struct pli_coll_args *a)
{
    return reduce(a, a->kind == PLI_COLL_ALLREDUCE || a->root == pli_comm_state_here(a->comm)->me);
}

// The whole vector is combined, and each rank keeps its block; one that has none leaves at once.
enum pli_err pli_reduce_scatter_slots(const struct pli_coll_args *a)
{
    char all[PLI_BOARD_INLINE];
    struct pli_coll_args whole = *a;
    size_t size = (size_t)a->recv.type->size, mine = (size_t)pli_coll_args_block(a, a->me) * size;
    whole.recv =
        (struct pli_blocks){ .buf = all, .count = pli_coll_args_total(a), .type = a->recv.type };
    enum pli_err err = reduce(&whole, mine > 0);
    if (err == PLI_OK && mine > 0) {
        memcpy((void *)(uintptr_t)a->recv.buf, all + (size_t)pli_coll_args_before(a, a->me) * size,
               mine);
    }
    return err;
}
