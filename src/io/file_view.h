// SPDX-License-Identifier: BSD-3-Clause
// File views: which bytes of a file a process sees, as one stream. [MPI-5.0 14.3]
#ifndef PLI_IO_FILE_VIEW_H
#define PLI_IO_FILE_VIEW_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_cursor;
struct pli_datatype;
struct pli_file;
struct pli_file_datarep;
struct pli_info;

// Byte `p` of the stream is in the file at pli_file_view_offset(v, p). Displacements of a filetype
// never fall, so neither do offsets, and a range of the file is a range of the stream, as far as
// pli_file_view_is_ordered says so.
struct pli_file_view {
    MPI_Offset disp;
    struct pli_datatype *etype, *filetype;
    const struct pli_file_datarep *rep; // NULL: native
    struct pli_datatype *layout;        // the filetype with the sizes that its data has in the file
    MPI_Count unit;                     // bytes of an etype in the file
    bool is_internal;                   // what native was called
    bool is_bytes;                      // that is one
    bool is_dense;                      // the stream is one run of the file
    bool has_overlap;                   // bytes of the file are in it twice: it is only read
    bool is_once; // the filetype is longer than its extent: offsets rise in its first repetition
};

// The whole file in bytes, as after MPI_File_open. NULL etypes are never seen by users.
void pli_file_view_init(struct pli_file_view *v);
void pli_file_view_release(struct pli_file_view *v);

MPI_Offset pli_file_view_offset(const struct pli_file_view *v, MPI_Offset pos);
// The end of byte pos - 1: where a stream of `pos` bytes ends; the displacement for 0.
MPI_Offset pli_file_view_end(const struct pli_file_view *v, MPI_Offset pos);
// How many etypes so many bytes have: mostly one each, and dividing takes as long as a small copy.
static inline MPI_Offset pli_file_view_etypes(const struct pli_file_view *v, MPI_Offset bytes)
{
    return v->is_bytes ? bytes : bytes / v->unit;
}
// How many bytes of the stream are before an offset of the file.
MPI_Offset pli_file_view_before(const struct pli_file_view *v, MPI_Offset offset);
// How long a run of the view is, on average; not of a filetype without data.
MPI_Count pli_file_view_run_length(const struct pli_file_view *v);
// Whether offsets rise in a part of the stream and no byte of the file is in it twice.
bool pli_file_view_is_ordered(const struct pli_file_view *v, MPI_Offset pos, size_t len);
// A cursor over the stream from pos on, at least len bytes; `base` is where offset 0 of the file is
// (or would be) in memory.
void pli_file_view_cursor(const struct pli_file_view *v, struct pli_cursor *c, const char *base,
                          MPI_Offset pos, size_t len);

// What one member writes: `len` bytes of its stream from `pos` on.
struct pli_file_view_piece {
    const struct pli_file_view *view;
    MPI_Offset pos;
    size_t len;
};

// Whether pieces, which all lie in [first, last), leave no byte of it out. They may overlap: then
// their lengths tell nothing. False too where there is no memory to find out.
bool pli_file_view_are_whole(const struct pli_file_view_piece *pieces, int n, MPI_Offset first,
                             MPI_Offset last);

#endif
