// SPDX-License-Identifier: BSD-3-Clause
// Starting processes from inside a program, and finding the one that did. [MPI-5.0 11.8]
#ifndef PLI_DYNAMIC_SPAWNER_H
#define PLI_DYNAMIC_SPAWNER_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;
struct pli_info;

// What to start; counts at the root alone.
struct pli_spawner_order {
    int n_part;
    char *const *commands;
    char **const *argvs; // NULL: no arguments
    const int *maxprocs;
    struct pli_info *const *infos;
    enum pli_err why; // not PLI_OK: the root's arguments are wrong already, and noted
};

// Processes of one program.
struct pli_spawner_count {
    int asked, made;
};

// Collective over comm: start the programs and make the intercommunicator with them.
// *counts_out: of each of the root's programs, also on failure; the caller frees them. Whoever
// fails, fails with the root's sentence. Context: no lock held.
enum pli_err pli_spawner_start(const struct pli_spawner_order *order, int root,
                               struct pli_comm *comm, struct pli_spawner_count **counts_out,
                               int *n_part_out, struct pli_comm **out);

// For a process that was spawned: meet the parent. Collective over its world. Others: nothing.
enum pli_err pli_spawner_meet_parent(struct pli_comm *world);
// The world ends.
void pli_spawner_leave_parent(void);

// MPI_Comm_get_parent: NULL when there is none, or it was freed.
enum pli_err pli_spawner_get_parent(struct pli_comm **out);

// Tell lower rooms. Context: start-up only.
void pli_spawner_prepare(void);

#endif
