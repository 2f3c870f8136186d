// SPDX-License-Identifier: BSD-3-Clause
// Collectives in which members of a board read from each other's buffers, or write to them: one
// copy by the kernel. Members say where their buffers are, meet, copy, and meet again.
#ifndef PLI_COLL_BOARD_CMA_H
#define PLI_COLL_BOARD_CMA_H

#include "base/err.h"
#include "coll/coll_args.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_board;
struct pli_board_cma;

// Context of all: the thread in the collective; no lock held.

// Say where others may read (`from`) and write (`to`; both NULL: my buffers cannot be used so) and
// meet. PLI_AGAIN: all members are to take another algorithm, because one of them cannot take part,
// or because that took them less time together.
enum pli_err pli_board_cma_begin(struct pli_board *b, const struct pli_coll_args *a,
                                 const void *from, void *to);
// Copy `len` bytes from a place `at` in a member's buffer. False: it failed.
bool pli_board_cma_read(struct pli_board *b, int member, size_t at, void *to, size_t len);

// Blocks of one size that go between members.
struct pli_board_cma_blocks {
    size_t bytes;
    size_t from_step; // a giver has the block for member i at i times this
    size_t to_step;   // a taker puts the block of member i at i times this
    int giver;        // the only one, -1: all
    int taker;
};
// Move all blocks that I give or take, together with the other member of each: a rank that is
// slower, or has to share its core, gets help from those that are done. False: a copy failed.
bool pli_board_cma_move(struct pli_board *b, const struct pli_board_cma_blocks *blocks);

// Meet again: no member needs my buffer any more. PLI_AGAIN: one of them failed, and all are to
// take another algorithm.
enum pli_err pli_board_cma_end(struct pli_board *b, const struct pli_coll_args *a, bool is_good);
// The other algorithm is over.
void pli_board_cma_other_end(struct pli_board *b);

#endif
