// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --gdb: chosen ranks run under gdb, each with a terminal of its own, which is shown in a
// pane of tmux or, one at a time, on the terminal of mpiexec.
#ifndef PLI_LAUNCHER_GDB_RANKS_H
#define PLI_LAUNCHER_GDB_RANKS_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// One rank under gdb; the child between vfork and exec reads it.
struct pli_gdb_rank {
    char tty[64];
    char *path, **argv, **env;
    char *wrapper; // the argument that loads libraries into the program, NULL: there are none
    uint32_t rank;
    int terminal; // our side of the tty, or what stands for it where the rank is on another host
    int far;      // then: the other end of that; -1
    int outer;    // what the user sees it on
};

struct pli_gdb_ranks_state {
    struct pli_gdb_rank *ranks;
    uint32_t n;
    int relay; // the process that passes on what is typed and shown, 0: none
};

// Ends mpiexec with a sentence where gdb or a terminal is not there.
void pli_gdb_ranks_plan(struct pli_job *job);
// The same in a daemon, for its ranks.
void pli_gdb_ranks_plan_host(struct pli_job *job);
// Makes the terminals, before the first rank starts. False with a message.
bool pli_gdb_ranks_open(const struct pli_job *job);
// Shows them to the user.
bool pli_gdb_ranks_show(void);
// Gives the terminal back.
void pli_gdb_ranks_close(void);

#endif
