// SPDX-License-Identifier: BSD-3-Clause
// MPI_Fork: more ranks, as clones of those that are there.
#ifndef PLI_ELASTIC_FORK_H
#define PLI_ELASTIC_FORK_H

#include "base/err.h"

struct pli_comm;
struct pli_info;

// Clone the first m ranks of the newest version of the world that the program works in, all of
// whose ranks call. info, of rank 0: hint host says where clones go; NULL: where there is room, the
// host of their parent first. why: this rank has a reason against it already. *n_out: the number of
// new ranks, 0 in a new one. Context: the only thread.
enum pli_err pli_fork(int m, struct pli_info *info, enum pli_err why, int *n_out);

// The ranks that called a fork, and those it made; the version of the world that it made says which
// fork. NULL: this process is not among them.
enum pli_err pli_fork_parents_at(int version, struct pli_comm **out);
enum pli_err pli_fork_children_at(int version, struct pli_comm **out);
// Of the last fork, NULL before the first.
struct pli_comm *pli_fork_parents(void);
struct pli_comm *pli_fork_children(void);

void pli_fork_leave(void); // the world ends
// Tell lower rooms. Context: start-up only.
void pli_fork_prepare(void);

#endif
