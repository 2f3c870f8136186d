// SPDX-License-Identifier: BSD-3-Clause
// Locks of ranges of a file, against other processes and other threads of this one.
#ifndef PLI_IO_FILE_LOCK_H
#define PLI_IO_FILE_LOCK_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_file;

// Context of all: nobody waits for others under a lock.

// Lock [lo, hi); waits. is_write: alone, else together with other readers.
enum pli_err pli_file_lock_take(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi);
// The same, alone, for more behind a range that is locked. Nobody waits for what is before a lock
// that he has, so all end.
enum pli_err pli_file_lock_more(struct pli_file *f, MPI_Offset lo, MPI_Offset hi);
// All that was locked.
void pli_file_lock_drop(struct pli_file *f, MPI_Offset lo, MPI_Offset hi);
// The same for an access, where the file needs that (NFS).
enum pli_err pli_file_lock_begin(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi);
void pli_file_lock_end(struct pli_file *f, MPI_Offset lo, MPI_Offset hi);

#endif
