// SPDX-License-Identifier: BSD-3-Clause
// The functions that read and write files, as the API table calls them. [MPI-5.0 14.4]
#ifndef PLI_IO_FILE_CALLS_H
#define PLI_IO_FILE_CALLS_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;
struct pli_file;
struct pli_request;

// A function of each kind for reading and for writing.
#define PLI_FILE_CALL(name, buffer, ...)                                                           \
    enum pli_err pli_file_calls_##name(struct pli_file *f, __VA_ARGS__)
#define PLI_FILE_DATA(buffer) buffer *buf, MPI_Count count, struct pli_datatype *type

#define PLI_FILE_CALLS(way, buffer)                                                                \
    PLI_FILE_CALL(way, buffer, PLI_FILE_DATA(buffer), MPI_Status *status);                         \
    PLI_FILE_CALL(way##_all, buffer, PLI_FILE_DATA(buffer), MPI_Status *status);                   \
    PLI_FILE_CALL(way##_at, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer), MPI_Status *status); \
    PLI_FILE_CALL(way##_at_all, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer),                  \
                  MPI_Status *status);                                                             \
    PLI_FILE_CALL(way##_shared, buffer, PLI_FILE_DATA(buffer), MPI_Status *status);                \
    PLI_FILE_CALL(way##_ordered, buffer, PLI_FILE_DATA(buffer), MPI_Status *status);               \
    PLI_FILE_CALL(i##way, buffer, PLI_FILE_DATA(buffer), struct pli_request **out);                \
    PLI_FILE_CALL(i##way##_all, buffer, PLI_FILE_DATA(buffer), struct pli_request **out);          \
    PLI_FILE_CALL(i##way##_at, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer),                   \
                  struct pli_request **out);                                                       \
    PLI_FILE_CALL(i##way##_at_all, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer),               \
                  struct pli_request **out);                                                       \
    PLI_FILE_CALL(i##way##_shared, buffer, PLI_FILE_DATA(buffer), struct pli_request **out);       \
    PLI_FILE_CALL(way##_all_begin, buffer, PLI_FILE_DATA(buffer));                                 \
    PLI_FILE_CALL(way##_at_all_begin, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer));           \
    PLI_FILE_CALL(way##_ordered_begin, buffer, PLI_FILE_DATA(buffer));                             \
    PLI_FILE_CALL(way##_all_end, buffer, buffer *buf, MPI_Status *status);                         \
    PLI_FILE_CALL(way##_at_all_end, buffer, buffer *buf, MPI_Status *status);                      \
    PLI_FILE_CALL(way##_ordered_end, buffer, buffer *buf, MPI_Status *status)

PLI_FILE_CALLS(read, void);
PLI_FILE_CALLS(write, const void);

#endif
