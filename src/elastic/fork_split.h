// SPDX-License-Identifier: BSD-3-Clause
// Forks a rank so that the launcher, not the rank, is the parent of the new process.
#ifndef PLI_ELASTIC_FORK_SPLIT_H
#define PLI_ELASTIC_FORK_SPLIT_H

#include "base/err.h"

#include <stdint.h>

// Returns twice. In the old process *parent_pipe_out is -1, and the new process has said that it is
// a process of the job. In the new process it is the descriptor for pli_fork_split_notify, which
// says so. The parent of the new process is the launcher. pid, if not 0: the process id it should
// have, and has where the system lets us choose. The new process has the same threads: no other
// one than the caller is inside a call of MPI.
enum pli_err pli_fork_split(uint32_t pid, int *parent_pipe_out);
void pli_fork_split_notify(int parent_pipe);

#endif
