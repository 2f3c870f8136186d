// SPDX-License-Identifier: BSD-3-Clause
// Postings of an operation in which one member gives each of the others a block of its own: it
// writes to their slots, which they have no use for in this operation, so each may go on as soon as
// it has its own. Context of all: as in board_post.h.
#ifndef PLI_COLL_BOARD_PART_H
#define PLI_COLL_BOARD_PART_H

#include "base/err.h"
#include "coll/board/board_post.h"

#include <stdbool.h>
#include <stdint.h>

// Gives each of the others its block of a->send. *has_later: blocks for which there is no room
// follow as messages; `later` has the bits of their members. A failure: a member died.
enum pli_err pli_board_part_give(struct pli_board *b, const struct pli_coll_args *a,
                                 uint64_t *later, bool *has_later);

// The block that the giver has for this member. PLI_ERR_OTHER, noted: it is in another operation.
enum pli_err pli_board_part_read(struct pli_board *b, const struct pli_coll_args *a, int giver,
                                 const struct pli_board_slot **out);

#endif
