// SPDX-License-Identifier: BSD-3-Clause
// The communicators that each fork makes: one of the ranks that called it (the parents) and one of
// the ranks that it made (the children). A process is in one of the two.
#ifndef PLI_ELASTIC_FORK_COMM_H
#define PLI_ELASTIC_FORK_COMM_H

#include "base/err.h"

#include <stdint.h>

struct pli_comm;

// Make the communicator of this process after a fork that made this version of the world, whose
// first n_old ranks existed before the fork.
enum pli_err pli_fork_comm_add(struct pli_comm *world, uint32_t version, int n_old);
// In a process that was just forked: drop the communicators of earlier forks, which belong to the
// parent.
void pli_fork_comm_clone(void);
// Free all of them. Context: the world ends.
void pli_fork_comm_free_all(void);

// MPIX_Comm_parents_at and MPIX_Comm_children_at: the communicators of the fork that made this
// version of the world; NULL: this process is not a member.
enum pli_err pli_fork_comm_parents_at(int version, struct pli_comm **out);
enum pli_err pli_fork_comm_children_at(int version, struct pli_comm **out);
// The communicators of the last fork; NULL before the first.
struct pli_comm *pli_fork_comm_parents(void);
struct pli_comm *pli_fork_comm_children(void);

// Register with the rooms below. Context: start-up only.
void pli_fork_comm_prepare(void);

#endif
