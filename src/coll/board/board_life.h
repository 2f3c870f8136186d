// SPDX-License-Identifier: BSD-3-Clause
// Creates boards and destroys them.
#ifndef PLI_COLL_BOARD_LIFE_H
#define PLI_COLL_BOARD_LIFE_H

#include <stdbool.h>

struct pli_board;
struct pli_comm;
struct pli_hostmap;
struct pli_shm_mailbox;

// Whether the communicator should have a board by now; the same at all members.
bool pli_board_life_is_worth(const struct pli_comm *comm);
// All members on this host together. NULL: the first of them has no memory for it or is alone, or
// they are too many. The hosts outlive the board.
struct pli_board *pli_board_life_make(struct pli_comm *comm, const struct pli_hostmap *hosts);
void pli_board_life_end(struct pli_board *b);
// This process was forked from another one, which looks after the boards that it left itself.
void pli_board_life_clone(void);
// The same, of one that it is still a member of: nothing that others see is touched.
void pli_board_life_drop(struct pli_board *b);
// Where a member on this host sleeps.
struct pli_shm_mailbox *pli_board_life_box(const struct pli_comm *comm, int rank);

#endif
