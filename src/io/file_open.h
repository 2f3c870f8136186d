// SPDX-License-Identifier: BSD-3-Clause
// Opening, closing and deleting files. [MPI-5.0 14.2]
#ifndef PLI_IO_FILE_OPEN_H
#define PLI_IO_FILE_OPEN_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_file;
struct pli_info;

// Of MPI_File_close.
enum pli_err pli_file_open_close(struct pli_file *f);
// As the API table calls them.
enum pli_err pli_file_open(struct pli_comm *comm, const char *name, int amode,
                           struct pli_info *info, struct pli_file **out);
enum pli_err pli_file_open_delete(const char *name, struct pli_info *info);

#endif
