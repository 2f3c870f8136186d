// SPDX-License-Identifier: BSD-3-Clause
// The ring of a board: one member writes entries that all others read. The writer does not wait,
// unless the ring is full. Context of all: the thread in the collective; no lock held.
#ifndef PLI_COLL_BOARD_RING_H
#define PLI_COLL_BOARD_RING_H

#include "base/err.h"

#include <stddef.h>

struct pli_board;
struct pli_board_slot;
struct pli_coll_args;

enum {
    PLI_BOARD_CHUNK = 32768
}; // of the writer's memory, for an entry that does not hold its data

// Where the data of entries of a message is: in the entry, or in chunks. The bytes an entry has. An
// entry of a message in pieces of 0 bytes has none: it tells of the message, which comes otherwise.
size_t pli_board_ring_piece(struct pli_board *b, size_t bytes);
// The next entry of a message of so many bytes, in pieces of so many: where its data goes to. Fails
// where a member died, so that it will never be free, or writes itself.
enum pli_err pli_board_ring_next(struct pli_board *b, const struct pli_coll_args *a, size_t bytes,
                                 size_t piece, unsigned char **out);
// It is full: the others may read it.
void pli_board_ring_publish(struct pli_board *b);
// The message is over for its writer.
void pli_board_ring_close(struct pli_board *b);

// What a reader finds: the whole message's bytes as the writer has them, and this entry's data, of
// `piece` bytes at most. PLI_ERR_OTHER, noted: the writer is in another operation.
struct pli_board_ring_view {
    size_t bytes, piece;
    const unsigned char *data;
};
enum pli_err pli_board_ring_read(struct pli_board *b, const struct pli_coll_args *a,
                                 struct pli_board_ring_view *out);
// The reader is done with it; the writer, member root, may wait for that.
void pli_board_ring_done(struct pli_board *b, int root);

// An entry that this member wrote and another one wrote over, as two do that both mean to be the
// root; NULL: there is none. It has the other's call.
const struct pli_board_slot *pli_board_ring_torn(const struct pli_board *b);

#endif
