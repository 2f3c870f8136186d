// SPDX-License-Identifier: BSD-3-Clause
// Ranges of a file that members hold, in a table in the memory they share: where all of them are on
// one host a lock of a range is no system call.
#ifndef PLI_IO_FILE_RANGE_H
#define PLI_IO_FILE_RANGE_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_file;

// Make the table, where there is none and members can have one; collective. Without one the file
// has f->ranges.table == NULL at all members.
enum pli_err pli_file_range_open(struct pli_file *f);
void pli_file_range_close(struct pli_file *f);
// In a process that was just forked: the table is its parent's.
void pli_file_range_leave(struct pli_file *f);

// Hold [lo, hi), alone or together with other readers; waits. Of one that dies meanwhile nothing is
// held any more. Context: the member holds nothing, no other thread of it is here, and the same
// thread gives it back.
void pli_file_range_take(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi);
// Up to `hi` from now on, alone.
void pli_file_range_extend(struct pli_file *f, MPI_Offset hi);
void pli_file_range_give(struct pli_file *f);

#endif
