// SPDX-License-Identifier: BSD-3-Clause
// File pointers and places. [MPI-5.0 14.4.3]
#ifndef PLI_IO_FILE_SEEK_H
#define PLI_IO_FILE_SEEK_H

#include "base/err.h"

#include <mpi.h>

struct pli_file;

// The offset of a whence in etypes, for a pointer that is at `now`.
enum pli_err pli_file_seek_to(struct pli_file *f, MPI_Offset offset, int whence, MPI_Offset now,
                              MPI_Offset *out);

// The number of a whence that all MPIs know (io/file_wire.h); -1: it is none.
int pli_file_seek_number(int whence);

// As the API table calls them.
enum pli_err pli_file_seek(struct pli_file *f, MPI_Offset offset, int whence);
enum pli_err pli_file_get_position(struct pli_file *f, MPI_Offset *out);
enum pli_err pli_file_get_byte_offset(struct pli_file *f, MPI_Offset offset, MPI_Offset *out);

#endif
