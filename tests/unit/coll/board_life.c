// SPDX-License-Identifier: BSD-3-Clause
// The memory of a board comes back when its members have left or died.
#include "coll/board/board_life.h"

#include "boot/failure_wire.h"
#include "boot/boot.h"
#include "coll/board/board.h"
#include "msg/arena.h"
#include "msg/lane.h"

#include "t.h"

#include <mpi.h>
#include <stdlib.h>

// A board of three members, of which this process is one.
static struct pli_board *make(int me)
{
    struct pli_board *b = calloc(1, sizeof *b);
    T_MUST(b != NULL);
    b->w = pli_arena_take(sizeof *b->w + 3 * sizeof b->w->members[0]);
    b->window = pli_arena_take(4096);
    T_MUST(b->w != NULL && b->window != NULL);
    b->members = b->w->members;
    b->n = 3;
    b->me = me;
    for (int i = 0; i < b->n; i++) {
        b->members[i].proc = pli_proc.id + (i == me ? 1000 : 0); // the others die with this row
    }
    return b;
}

// Have all boards that were left looked at.
static void look(void)
{
    struct pli_board *b = make(0);
    b->n = 1;
    pli_board_life_end(b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct pli_node_proc *dead = &pli_boot.node.procs[0];
    size_t before = pli_arena_used();
    struct pli_board_wire *w[2];
    for (int me = 0; me < 2; me++) {
        struct pli_board *b = make(me);
        w[me] = b->w;
        pli_board_life_end(b);
    }
    look();
    size_t left = pli_arena_used();
    T_OK(left > before); // the others may come yet
    T_EQ(w[0]->members[0].stage, PLI_BOARD_LEFT);

    // One of the others leaves, and the last one dies: it has come no further than that.
    w[0]->members[1].stage = PLI_BOARD_LEFT;
    w[0]->n_left++;
    pli_boot.node.header->n_failed = 1;
    look();
    T_EQ(pli_arena_used(), left);
    dead->failure = PLI_FAILURE_SIGNAL | 9;
    look();
    T_EQ(w[1]->members[1].stage, PLI_BOARD_DONE);
    pli_arena_give(w[1]); // that of another process
    T_EQ(pli_arena_used(), before);
    dead->failure = 0;
    MPI_Finalize();
    return t_status();
}
