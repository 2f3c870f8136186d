// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter through the windows: each rank shows a slice of every rank's block, and combines
// the slices of its own block in the order of ranks.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_window.h"
#include "coll/comm_state.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <stdlib.h>
#include <string.h>

// Elements of a rank's block.
static size_t count_of(const struct pli_coll_args *a, int i)
{
    return (size_t)pli_coll_args_block(a, i);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Show the slices that begin at element `done` of each block and have `most` elements or less.
static void show(struct pli_board *b, const struct pli_coll_args *a, const char *vector,
                 size_t done, size_t most)
{
    size_t size = (size_t)a->recv.type->size;
    unsigned char *to = pli_board_show(b);
    for (int i = 0; i < b->n; i++) {
        size_t count = count_of(a, i);
        if (count > done) {
            memcpy(to + (size_t)i * most * size, vector + done * size,
                   least(count - done, most) * size);
        }
        vector += count * size;
    }
}

// Combine the slices of my block.
static void combine(struct pli_board *b, const struct pli_coll_args *a, size_t done, size_t most)
{
    size_t size = (size_t)a->recv.type->size, count = count_of(a, b->me);
    size_t n = count > done ? least(count - done, most) : 0, at = (size_t)b->me * most * size;
    char *to = (char *)(uintptr_t)a->recv.buf + done * size;
    if (n == 0) {
        return;
    }
    memcpy(to, pli_board_window_of(b, b->n - 1) + at, n * size);
    for (int i = b->n - 2; i >= 0; i--) {
        pli_op_apply(a->op, pli_board_window_of(b, i) + at, to, (MPI_Count)n, a->recv.type);
    }
}

enum pli_err pli_reduce_scatter_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a), longest = 0;
    if (bytes == 0) {
        pli_board_begin(b, a, 0);
        return pli_board_meet(b, a, 0);
    }
    for (int i = 0; i < b->n; i++) {
        longest = count_of(a, i) > longest ? count_of(a, i) : longest;
    }
    size_t most = b->window_half / (size_t)a->recv.type->size / (size_t)b->n;
    const char *vector = a->send.buf;
    char *copy = NULL;
    if (a->is_in_place && longest > most) { // the first results would overwrite what is shown later
        copy = malloc(bytes);
        if (copy == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory for a copy of %zu bytes", bytes);
        }
        vector = memcpy(copy, a->send.buf, bytes);
    }
    enum pli_err err = PLI_OK;
    for (size_t done = 0; err == PLI_OK && done < longest; done += most) {
        pli_board_begin(b, a, bytes);
        show(b, a, vector, done, most);
        err = pli_board_meet(b, a, bytes);
        if (err == PLI_OK) {
            combine(b, a, done, most);
        }
    }
    free(copy);
    return err;
}
