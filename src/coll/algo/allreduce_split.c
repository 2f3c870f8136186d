// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long vectors, a window at a time: each member shows its values, combines its own
// share of the window out of all windows in the order of ranks, shows that, and copies the other
// shares.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <string.h>

// A part of the vector that is in the windows now.
struct part {
    size_t first, count; // elements
    size_t size;         // of an element
};

static size_t share(const struct part *p, int i, int n)
{
    return p->count * (size_t)i / (size_t)n;
}

// My share of the result, into the user's buffer and my window.
static void combine(struct pli_board *b, const struct pli_coll_args *a, const struct part *p,
                    unsigned char *shown)
{
    size_t at = share(p, b->me, b->n) * p->size;
    size_t count = share(p, b->me + 1, b->n) - share(p, b->me, b->n);
    unsigned char *to = (unsigned char *)(uintptr_t)a->recv.buf + p->first * p->size + at;
    memcpy(to, pli_board_window_of(b, b->n - 1) + at, count * p->size);
    for (int i = b->n - 2; i >= 0; i--) {
        pli_op_apply(a->op, pli_board_window_of(b, i) + at, to, (MPI_Count)count, a->recv.type);
    }
    memcpy(shown + at, to, count * p->size);
}

static void collect(struct pli_board *b, const struct pli_coll_args *a, const struct part *p)
{
    unsigned char *to = (unsigned char *)(uintptr_t)a->recv.buf + p->first * p->size;
    for (int k = 1; k < b->n; k++) {
        int i = (b->me + k) % b->n;
        size_t at = share(p, i, b->n) * p->size, end = share(p, i + 1, b->n) * p->size;
        memcpy(to + at, pli_board_window_of(b, i) + at, end - at);
    }
}

enum pli_err pli_allreduce_split(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t size = (size_t)a->recv.type->size, total = (size_t)a->recv.count;
    size_t most = b->window_half / size;
    for (size_t first = 0; first < total; first += most) {
        struct part p = { first, total - first < most ? total - first : most, size };
        pli_board_begin(b, a, total * size);
        unsigned char *shown = pli_board_show(b);
        memcpy(shown, (const char *)a->send.buf + first * size, p.count * size);
        enum pli_err err = pli_board_meet(b, a, total * size);
        if (err != PLI_OK) {
            return err; // all members see the same, at the first meeting
        }
        combine(b, a, &p, shown);
        pli_board_begin(b, a, total * size)->offset = pli_arena_offset(shown);
        err = pli_board_meet(b, a, total * size);
        if (err != PLI_OK) {
            return err;
        }
        collect(b, a, &p);
    }
    return PLI_OK;
}
