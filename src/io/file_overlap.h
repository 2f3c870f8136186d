// SPDX-License-Identifier: BSD-3-Clause
// A window of an aggregator that is written, or read, while the next one is exchanged.
#ifndef PLI_IO_FILE_OVERLAP_H
#define PLI_IO_FILE_OVERLAP_H

#include "base/err.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_file;

// Zero: nothing is under way.
struct pli_file_overlap {
    struct pli_file *f;
    bool is_write, is_begun, has_thread;
    char *buf;
    MPI_Offset lo, hi;
    pthread_t thread;
    size_t done;
    struct pli_fail_saved why;
};

// Nothing else may be under way here. The buffer is the system's until the end.
void pli_file_overlap_begin(struct pli_file_overlap *v, struct pli_file *f, bool is_write,
                            char *buf, MPI_Offset lo, MPI_Offset hi);
// Wait for it; fine where nothing was begun. *done_out: bytes.
enum pli_err pli_file_overlap_end(struct pli_file_overlap *v, size_t *done_out);

#endif
