// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_set_view and MPI_File_get_view. [MPI-5.0 14.3]
#ifndef PLI_IO_FILE_VIEW_SET_H
#define PLI_IO_FILE_VIEW_SET_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;
struct pli_file;
struct pli_info;

// As the API table calls them.
enum pli_err pli_file_view_set(struct pli_file *f, MPI_Offset disp, struct pli_datatype *etype,
                               struct pli_datatype *filetype, const char *datarep,
                               struct pli_info *info);
enum pli_err pli_file_view_get(struct pli_file *f, MPI_Offset *disp, struct pli_datatype **etype,
                               struct pli_datatype **filetype, char *datarep);

#endif
