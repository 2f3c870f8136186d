// SPDX-License-Identifier: BSD-3-Clause
// MPI_Fork: adds ranks to the world as clones of ranks that are in it.
#ifndef PLI_ELASTIC_FORK_H
#define PLI_ELASTIC_FORK_H

#include "base/err.h"

struct pli_info;

// Clone the first m ranks of the newest version of the world that the program works in. All ranks
// of that version call. info: the hint "host" of rank 0 says where the clones go; with NULL they go
// where a slot is free, to the host of their parent first. why: an error that this rank found
// before the call, which makes the call fail at all ranks. *n_out: the number of new ranks, or 0 in
// a new rank. Context: the process has one thread.
enum pli_err pli_fork(int m, struct pli_info *info, enum pli_err why, int *n_out);

#endif
