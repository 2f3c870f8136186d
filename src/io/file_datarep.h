// SPDX-License-Identifier: BSD-3-Clause
// Data representations: how numbers are written in a file. [MPI-5.0 14.5]
#ifndef PLI_IO_FILE_DATAREP_H
#define PLI_IO_FILE_DATAREP_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_datatype;
struct pli_file_datarep;

// NULL in *out: native, which internal is too. Unknown names fail.
enum pli_err pli_file_datarep_find(const char *name, const struct pli_file_datarep **out);
const char *pli_file_datarep_name(const struct pli_file_datarep *rep);
// Whether functions of the program convert; NULL is fine.
bool pli_file_datarep_is_users(const struct pli_file_datarep *rep);

// The type with the sizes and places that its data has in the file; one reference for the caller.
enum pli_err pli_file_datarep_layout(const struct pli_file_datarep *rep, struct pli_datatype *t,
                                     struct pli_datatype **out);
// A handle of a type for the user, who may free it: a predefined type itself, else a copy.
enum pli_err pli_file_datarep_copy(struct pli_datatype *t, struct pli_datatype **out);

// Bytes that `count` elements have in the file, and elements between the file's form and memory.
MPI_Count pli_file_datarep_size(const struct pli_file_datarep *rep, struct pli_datatype *t);
enum pli_err pli_file_datarep_write(const struct pli_file_datarep *rep, const void *buf,
                                    MPI_Count count, struct pli_datatype *t, char *to);
// Of `len` bytes, which may end within the element behind the last whole one. *bytes_out: how many
// bytes of memory have come.
enum pli_err pli_file_datarep_read(const struct pli_file_datarep *rep, const char *from, size_t len,
                                   void *buf, MPI_Count count, struct pli_datatype *t,
                                   MPI_Count *bytes_out);

// As the API table calls them.
enum pli_err pli_file_datarep_register(const char *name, MPI_Datarep_conversion_function *read_fn,
                                       MPI_Datarep_conversion_function *write_fn,
                                       MPI_Datarep_extent_function *extent_fn, void *extra);
enum pli_err pli_file_datarep_register_large(const char *name,
                                             MPI_Datarep_conversion_function_c *read_fn,
                                             MPI_Datarep_conversion_function_c *write_fn,
                                             MPI_Datarep_extent_function *extent_fn, void *extra);

#endif
