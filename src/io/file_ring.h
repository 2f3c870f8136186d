// SPDX-License-Identifier: BSD-3-Clause
// Collective writing by members of one host: each puts its data into memory that all of them share,
// window by window, and one writes the windows.
#ifndef PLI_IO_FILE_RING_H
#define PLI_IO_FILE_RING_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_file;
struct pli_file_op;

// Whether to write so a range of so many bytes, of which members have all; the same at all members.
bool pli_file_ring_is_worth(const struct pli_file *f, MPI_Offset len);
// The memory, made by the first call. *is_there_out: all members have it. Collective.
enum pli_err pli_file_ring_open(struct pli_file *f, bool *is_there_out);
void pli_file_ring_close(struct pli_file *f);

// Write what members want together; errors are noted in the access. Collective.
void pli_file_ring_write(struct pli_file_op *o);

#endif
