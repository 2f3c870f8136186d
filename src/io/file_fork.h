// SPDX-License-Identifier: BSD-3-Clause
// Files across MPI_Fork: those of the parents go on, and those whose members were all cloned are
// the clones' too, with pointers of their own into the same file.
#ifndef PLI_IO_FILE_FORK_H
#define PLI_IO_FILE_FORK_H

#include "base/err.h"

// No file has a thread or an epoch until pli_file_fork_resume.
void pli_file_fork_suspend(void);
enum pli_err pli_file_fork_resume(void);

// Whether the files of this process allow a fork. The text goes on after "rank N".
enum pli_err pli_file_fork_check(void);

// In a process that was just forked: what is in the memory of its parent is left.
void pli_file_fork_leave(void);
// Later, when it is known which communicators the clone has: the others' files are lost.
void pli_file_fork_lose(void);
// When the clones can talk, and have windows: each file gets a shared pointer, where that of the
// parents was. Collective over the clones.
enum pli_err pli_file_fork_connect(void);

#endif
