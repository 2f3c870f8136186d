// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_close, which takes a file of the rank that this one was forked from, too.
#ifndef PLI_GLUE_FILE_CLOSE_H
#define PLI_GLUE_FILE_CLOSE_H

#include <mpi.h>

int pli_file_close(MPI_File *file);

#endif
