// SPDX-License-Identifier: BSD-3-Clause
// Postings: each member writes at most one in an operation, for one other member or for all, and
// goes on; it may be PLI_BOARD_POSTS operations ahead of those who read. All members count the
// operations with postings alike. Context of all: the thread in the collective; no lock held.
#ifndef PLI_COLL_BOARD_POST_H
#define PLI_COLL_BOARD_POST_H

#include "base/err.h"
#include "coll/board/board_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_board;
struct pli_coll_args;

enum {
    PLI_BOARD_POST_MAX = 8192,
    PLI_BOARD_POST_LARGE = 32768, // if it has blocks for several members, who all read it
    PLI_BOARD_POST_TO_ALL = -2
};

// Where the data of a posting is: slot->error.
enum pli_board_post_where {
    PLI_BOARD_POST_INLINE,
    PLI_BOARD_POST_CHUNK,
    PLI_BOARD_POST_LATER, // it follows as a message
    PLI_BOARD_POST_NONE,  // it has none: its writer could not do the operation
    PLI_BOARD_POST_ASKS,  // its writer waits for the root to say whether sizes agree
    PLI_BOARD_POST_AGREE  // the root: they do
};

// My slot in this operation, once it is free. A failure: a member died, and it never will be.
enum pli_err pli_board_post_begin(struct pli_board *b, const struct pli_coll_args *a, size_t bytes,
                                  struct pli_board_slot **out);
// Where so many bytes go to; NULL: there is no room, and a message follows. The slot says which.
unsigned char *pli_board_post_place(struct pli_board *b, struct pli_board_slot *slot, size_t bytes);
// The same for a posting that all members read, which may be large.
unsigned char *pli_board_post_place_large(struct pli_board *b, struct pli_board_slot *slot,
                                          size_t bytes);
// Memory of this operation for data that does not fit a slot; NULL: there is none, or it is read.
unsigned char *pli_board_post_chunk(struct pli_board *b); // PLI_BOARD_POST_MAX
unsigned char *pli_board_post_large(struct pli_board *b); // PLI_BOARD_POST_LARGE
// The slot tells where the data is, which is NULL if it comes later. That place.
unsigned char *pli_board_post_tell(struct pli_board_slot *slot, unsigned char *at);
// It is full: this member, or PLI_BOARD_POST_TO_ALL, may read it.
void pli_board_post_publish(struct pli_board *b, struct pli_board_slot *slot, int reader);

// What a member posted in this operation. PLI_ERR_OTHER, noted: it is in another operation.
enum pli_err pli_board_post_read(struct pli_board *b, const struct pli_coll_args *a, int member,
                                 const struct pli_board_slot **out);
const unsigned char *pli_board_post_data(const struct pli_board_slot *slot);
// The operation is over for this member: it looks at none of its postings any more.
void pli_board_post_end(struct pli_board *b);

// Before an operation in which members wait for each other: the root sees whether all have as many
// bytes as it has, and tells them. PLI_AGAIN at a member that is not the root: they have not, and
// the operation is over. Nothing is done if they agreed in this operation: b->has_agreed, which is
// then forgotten.
enum pli_err pli_board_post_agree(struct pli_board *b, const struct pli_coll_args *a, size_t bytes);

// A failure: a posting has other bytes than this rank expects.
enum pli_err pli_board_post_misfit(const struct pli_coll_args *a, int member, size_t bytes,
                                   size_t expected);

#endif
