// SPDX-License-Identifier: BSD-3-Clause
// Writes in atomic mode: all of one is in the file, or nothing.
#ifndef PLI_IO_FILE_ATOMIC_H
#define PLI_IO_FILE_ATOMIC_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_file;

// A write, and how it is done; no lock is taken there.
struct pli_file_atomic {
    struct pli_file *file;
    MPI_Offset pos; // in the view, in bytes
    size_t len;
    enum pli_err (*write)(void *arg);
    void *arg;
    // Move bytes of the view; *done_out: how many, also on failure.
    enum pli_err (*part)(struct pli_file *f, bool is_write, MPI_Offset pos, char *buf, size_t len,
                         size_t *done_out);
};

// Write under a lock. Where that fails half way, the file is as it was: what was there is kept in
// memory until all is written. *is_whole_out: nothing of a write that failed is in the file.
// Context: any thread.
enum pli_err pli_file_atomic_write(const struct pli_file_atomic *a, bool *is_whole_out);

#endif
