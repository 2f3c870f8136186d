// SPDX-License-Identifier: BSD-3-Clause
// Hints on files: those that change something, and all others, which are kept and told. [MPI-5.0
// 14.2.8]
#ifndef PLI_IO_FILE_HINTS_H
#define PLI_IO_FILE_HINTS_H

#include "base/err.h"

#include <stdint.h>

struct pli_file;
struct pli_info;

enum pli_file_choice { PLI_FILE_AUTOMATIC, PLI_FILE_ENABLE, PLI_FILE_DISABLE };

struct pli_file_hints {
    struct pli_info *info; // all, as MPI_File_get_info tells them; NULL: the program gave none
    int64_t buffer;        // cb_buffer_size
    int64_t read_sieve, write_sieve; // ind_rd_buffer_size, ind_wr_buffer_size
    int nodes;                       // cb_nodes; 0: as many as fit
    enum pli_file_choice cb_read, cb_write, ds_read, ds_write;
    int64_t stripe, stripes;        // striping_unit, striping_factor; 0: not known
    enum pli_file_choice map, lock; // pliant_map, pliant_lock
    enum pli_file_choice shared_map, shared_batch;
};

// What a file has without hints.
void pli_file_hints_init(struct pli_file *f);
// Take hints over; info may be NULL. Values that cannot be are left alone, as MPI wants it.
enum pli_err pli_file_hints_take(struct pli_file *f, struct pli_info *info);
void pli_file_hints_release(struct pli_file *f);
// What the hints of an open file become with these; the file keeps its own. Those that others count
// on stay as they were when the file was opened. *out goes to pli_file_hints_replace, or its info
// to pli_info_release.
enum pli_err pli_file_hints_merge(const struct pli_file *f, struct pli_info *info,
                                  struct pli_file_hints *out);
void pli_file_hints_replace(struct pli_file *f, const struct pli_file_hints *h);
// Note how many members aggregate, and what rank 0 has told, so that MPI_File_get_info tells.
enum pli_err pli_file_hints_note_nodes(struct pli_file *f, int n);

// As the API table calls them.
enum pli_err pli_file_hints_set(struct pli_file *f, struct pli_info *info);
enum pli_err pli_file_hints_get(struct pli_file *f, struct pli_info **out);

#endif
