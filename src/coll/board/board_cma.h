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

// Say where my buffer is (NULL: it cannot be used so) and meet. PLI_AGAIN: all members are to take
// another algorithm, because one of them cannot take part, or because that took them less time
// together.
enum pli_err pli_board_cma_begin(struct pli_board *b, const struct pli_coll_args *a,
                                 const void *mine);
// Copy `len` bytes between memory here and a place `at` in a member's buffer. False: it failed.
bool pli_board_cma_read(struct pli_board *b, int member, size_t at, void *to, size_t len);
bool pli_board_cma_write(struct pli_board *b, int member, size_t at, const void *from, size_t len);
// Meet again: no member needs my buffer any more. PLI_AGAIN: one of them failed, and all are to
// take another algorithm.
enum pli_err pli_board_cma_end(struct pli_board *b, const struct pli_coll_args *a, bool is_good);
// The other algorithm is over.
void pli_board_cma_other_end(struct pli_board *b);

#endif
