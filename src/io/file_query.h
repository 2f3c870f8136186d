// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of a file, and set, beside its data. [MPI-5.0 14.2, 14.6]
#ifndef PLI_IO_FILE_QUERY_H
#define PLI_IO_FILE_QUERY_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;
struct pli_file;
struct pli_group;

// As the API table calls them.
enum pli_err pli_file_set_size(struct pli_file *f, MPI_Offset size);
enum pli_err pli_file_get_size(struct pli_file *f, MPI_Offset *out);
enum pli_err pli_file_preallocate(struct pli_file *f, MPI_Offset size);
enum pli_err pli_file_get_group(struct pli_file *f, struct pli_group **out);
enum pli_err pli_file_get_amode(struct pli_file *f, int *out);
enum pli_err pli_file_set_atomicity(struct pli_file *f, int flag);
enum pli_err pli_file_get_atomicity(struct pli_file *f, int *out);
enum pli_err pli_file_sync(struct pli_file *f);
enum pli_err pli_file_get_type_extent(struct pli_file *f, struct pli_datatype *t, MPI_Count *out);

#endif
