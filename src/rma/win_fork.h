// SPDX-License-Identifier: BSD-3-Clause
// Windows across MPI_Fork: those of the parents go on, and those whose members were all cloned are
// the clones' too, with memory of their own.
#ifndef PLI_RMA_WIN_FORK_H
#define PLI_RMA_WIN_FORK_H

#include "base/err.h"

#include <stddef.h>

struct pli_group;

// Whether the windows of this process allow a fork: all members are of the world that is forked,
// and no epoch is open. The text goes on after "rank N".
enum pli_err pli_win_fork_check(const struct pli_group *world);
size_t pli_win_fork_count(void);

// No member serves others until pli_win_fork_resume. Context: all members have agreed on the fork.
void pli_win_fork_suspend(void);
enum pli_err pli_win_fork_resume(void);

// In a process that was just forked, while its parent waits: memory that is shared becomes a copy,
// at the addresses that it has.
enum pli_err pli_win_fork_copy(void);
// Later, when it is known which communicators the clone has: the others' windows are lost.
void pli_win_fork_lose(void);
// When the clones can talk: the members of each window tell each other of their memory. Collective
// over the clones.
enum pli_err pli_win_fork_connect(void);

#endif
