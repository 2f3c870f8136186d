// SPDX-License-Identifier: BSD-3-Clause
// Starting processes from inside a program, and the parent of such processes. [MPI-5.0 11.8]
#ifndef PLI_DYNAMIC_SPAWNER_H
#define PLI_DYNAMIC_SPAWNER_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;
struct pli_info;

// What to start; significant at the root.
struct pli_spawner_request {
    int n_part;
    char *const *commands;
    char **const *argvs; // NULL: no arguments
    const int *maxprocs;
    struct pli_info *const *infos;
    enum pli_err why; // not PLI_OK: the root's arguments are wrong, and pli_fail was called
};

// Processes of one program.
struct pli_spawner_count {
    int asked, started;
};

// Collective over comm: start the programs and make the intercommunicator with them.
// *counts_out: one for each of the root's programs, also on failure; the caller frees them. A
// failure at the root is a failure at all members, with the root's text. Context: no lock held.
enum pli_err pli_spawner_start(const struct pli_spawner_request *request, int root,
                               struct pli_comm *comm, struct pli_spawner_count **counts_out,
                               int *n_part_out, struct pli_comm **out);

// Whether this process was spawned.
bool pli_spawner_has_parent(void);
// In one that was: make the intercommunicator with the parent. Collective over those that were
// spawned with it.
enum pli_err pli_spawner_connect_parent(struct pli_comm *world);
// The world ends.
void pli_spawner_forget_parent(void);

// MPI_Comm_get_parent: NULL when there is none, or it was freed.
enum pli_err pli_spawner_get_parent(struct pli_comm **out);

// Register with the rooms below. Context: start-up only.
void pli_spawner_prepare(void);

#endif
