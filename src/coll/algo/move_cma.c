// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move large blocks, in one copy: each rank reads what it gets out of the others'
// buffers, in a gather each writes to the root's, and helps with what is left of its own.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_cma.h"
#include "coll/board/board_post.h"
#include "coll/comm_state.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

// Where blocks in a row begin; NULL: they have holes.
static char *row_of(const struct pli_blocks *b)
{
    bool is_row = b->type->is_dense && b->types == NULL && b->counts.data == NULL;
    return is_row ? pli_blocks_shift(b->buf, b->type->true_lb) : NULL;
}

static char *both(const char *theirs, char *mine)
{
    return theirs != NULL ? mine : NULL;
}

static void copy_own(const struct pli_coll_args *a, struct pli_block from, int me)
{
    if (!a->is_in_place) {
        struct pli_block to = pli_blocks_at(&a->recv, me);
        pli_cursor_copy(from.buf, from.count, from.type, to.buf, to.count, to.type);
    }
}

enum pli_err pli_move_cma_alltoall(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    char *to = row_of(&a->recv);
    char *mine = a->is_in_place ? NULL : both(to, row_of(&a->send));
    enum pli_err err = pli_board_cma_begin(b, a, mine, both(mine, to));
    if (err != PLI_OK) {
        return err;
    }
    copy_own(a, pli_blocks_at(&a->send, b->me), b->me);
    struct pli_board_cma_blocks blocks = { bytes, bytes, bytes, -1, -1 };
    return pli_board_cma_end(b, a, pli_board_cma_move(b, &blocks));
}

enum pli_err pli_move_cma_allgather(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    char *to = row_of(&a->recv);
    char *mine = a->is_in_place ? to : row_of(&a->send);
    if (a->is_in_place && to != NULL) {
        mine = to + (size_t)b->me * bytes;
    }
    enum pli_err err = pli_board_cma_begin(b, a, both(to, mine), both(mine, to));
    if (err != PLI_OK) {
        return err;
    }
    copy_own(a, pli_blocks_one(&a->send), b->me);
    struct pli_board_cma_blocks blocks = { bytes, 0, bytes, -1, -1 };
    return pli_board_cma_end(b, a, pli_board_cma_move(b, &blocks));
}

// The others find each rank's block in its send buffer, or if that has holes in its own result.
enum pli_err pli_move_cma_allgatherv(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    struct pli_block own = pli_blocks_at(&a->recv, b->me);
    MPI_Aint lb = a->recv.type->true_lb;
    char *mine = a->is_in_place ? NULL : row_of(&a->send);
    bool is_early = mine == NULL;
    if (is_early) {
        copy_own(a, pli_blocks_one(&a->send), b->me);
        mine = pli_blocks_shift(own.buf, lb);
    }
    enum pli_err err = pli_board_cma_begin(b, a, a->recv.type->is_dense ? mine : NULL, NULL);
    if (err != PLI_OK) {
        return err;
    }
    if (!is_early) {
        copy_own(a, pli_blocks_one(&a->send), b->me);
    }
    bool is_good = true;
    for (int k = 1; k < b->n && is_good; k++) {
        int i = (b->me + k) % b->n;
        struct pli_block to = pli_blocks_at(&a->recv, i);
        size_t bytes = (size_t)(to.count * to.type->size);
        is_good = bytes == 0 || pli_board_cma_read(b, i, 0, pli_blocks_shift(to.buf, lb), bytes);
    }
    return pli_board_cma_end(b, a, is_good);
}

enum pli_err pli_move_cma_gather(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    bool is_root = b->me == a->root;
    char *mine = row_of(is_root ? &a->recv : &a->send);
    enum pli_err err = pli_board_post_agree(b, a, bytes);
    if (err != PLI_OK) {
        return err == PLI_AGAIN ? PLI_OK : err; // the root tells of it
    }
    b->has_agreed = true; // in the algorithm that follows, if there is one
    err = pli_board_cma_begin(b, a, is_root ? NULL : mine, is_root ? mine : NULL);
    if (err != PLI_OK) {
        return err;
    }
    if (is_root) {
        copy_own(a, pli_blocks_one(&a->send), b->me);
    }
    struct pli_board_cma_blocks blocks = { bytes, 0, bytes, -1, a->root };
    err = pli_board_cma_end(b, a, pli_board_cma_move(b, &blocks));
    b->has_agreed = err == PLI_AGAIN;
    return err;
}

enum pli_err pli_move_cma_scatter(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a);
    bool is_root = b->me == a->root;
    char *mine = row_of(is_root ? &a->send : &a->recv);
    enum pli_err err = pli_board_cma_begin(b, a, is_root ? mine : NULL, is_root ? NULL : mine);
    if (err != PLI_OK) {
        return err;
    }
    if (is_root && !a->is_in_place) {
        struct pli_block from = pli_blocks_at(&a->send, b->me);
        pli_cursor_copy(from.buf, from.count, from.type, (void *)(uintptr_t)a->recv.buf,
                        a->recv.count, a->recv.type);
    }
    struct pli_board_cma_blocks blocks = { bytes, bytes, 0, a->root, -1 };
    return pli_board_cma_end(b, a, pli_board_cma_move(b, &blocks));
}
