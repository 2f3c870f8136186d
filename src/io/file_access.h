// SPDX-License-Identifier: BSD-3-Clause
// One access of one process: so many bytes of its view, from or to its memory. Independent of
// others.
#ifndef PLI_IO_FILE_ACCESS_H
#define PLI_IO_FILE_ACCESS_H

#include "base/err.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_file;
struct pli_file_datarep;

struct pli_file_access {
    struct pli_file *file;
    bool is_write;
    bool is_plain;    // runs are moved by system calls, and no pages are made for gaps
    bool is_async;    // the program computes meanwhile
    bool is_shared;   // its place is that of the shared pointer
    size_t collected; // bytes of a line that were, though it is written
    MPI_Offset pos;   // in the view, in bytes
    size_t len;       // bytes in the file
    size_t
        done; // of those, how many were moved; all before the first failure or the end of the file
    struct pli_cursor memory; // of the data as it is in the file
    char *run;                // the same when it is one run, else NULL
    char *stage;              // the data in another representation, NULL: as the user has it
    const struct pli_file_datarep *rep; // that one
    void *buf;                          // what the user passed
    MPI_Count count;
    struct pli_datatype *type; // retained
};

// Check what the user asks for and make the data ready; *a needs pli_file_access_end in any case.
// pos is set by the caller. what: "read" or "write" are allowed by the mode of the file.
enum pli_err pli_file_access_begin(struct pli_file_access *a, struct pli_file *f, bool is_write,
                                   const void *buf, MPI_Count count, struct pli_datatype *type);
// Whether the data is best moved through a mapping, by each member alone.
bool pli_file_access_is_mapped(const struct pli_file_access *a);
// Move the data. Context: any thread.
enum pli_err pli_file_access_run(struct pli_file_access *a);
// A line of bytes with the shared pointer, as pli_file_shared_batch_line has it.
bool pli_file_access_line(struct pli_file *f, const void *buf, MPI_Count count,
                          const struct pli_datatype *type, MPI_Offset *at_out, size_t *len_out,
                          enum pli_err *err_out);
// Give the user what was read, and say how many bytes of memory were moved.
enum pli_err pli_file_access_end(struct pli_file_access *a, enum pli_err err, size_t *bytes_out);

// Move `n` more bytes of the memory to or from `buf`, from byte `from` of the access on.
void pli_file_access_pack(const struct pli_file_access *a, size_t from, void *buf, size_t n);
void pli_file_access_unpack(const struct pli_file_access *a, size_t from, const void *buf,
                            size_t n);

// What other hosts have made visible is seen from now on.
enum pli_err pli_file_access_refresh(struct pli_file *f);

#endif
