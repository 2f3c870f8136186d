// SPDX-License-Identifier: BSD-3-Clause
// How much of the members' windows an operation uses.
#ifndef PLI_COLL_BOARD_WINDOW_H
#define PLI_COLL_BOARD_WINDOW_H

#include "coll/board/board.h"
#include "coll/coll_args.h"
#include "msg/arena.h"
#include "obj/comm.h"

#include <stddef.h>

enum { PLI_BOARD_WINDOW_SMALL = 8192, PLI_BOARD_WINDOW_LARGE = 131072 };

// The half that an operation wants: what each member shows, if that is little.
static inline size_t pli_board_window_need(const struct pli_coll_args *a)
{
    MPI_Count bytes = pli_coll_args_bytes(a);
    if (a->kind == PLI_COLL_ALLTOALL) {
        bytes *= a->comm->size;
    }
    return bytes <= PLI_BOARD_WINDOW_SMALL ? PLI_BOARD_WINDOW_SMALL : PLI_BOARD_WINDOW_LARGE;
}

// What another member shows in the operation under way.
static inline const unsigned char *pli_board_window_of(struct pli_board *b, int member)
{
    return pli_arena_at(pli_board_slot(b, member)->offset);
}

#endif
