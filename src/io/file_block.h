// SPDX-License-Identifier: BSD-3-Clause
// Moves runs of a file by system calls, or several at once by io_uring where the file wants it.
#ifndef PLI_IO_FILE_BLOCK_H
#define PLI_IO_FILE_BLOCK_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_file;

// A run of the file and of memory.
struct pli_file_piece {
    char *buf;
    size_t len;
    MPI_Offset at;
    size_t done; // how much was moved
};

// One run. Reading ends early at the end of the file: *done_out says how many bytes were moved,
// also on failure. Context: any thread.
enum pli_err pli_file_block_move(struct pli_file *f, bool is_write, void *buf, size_t len,
                                 MPI_Offset at, size_t *done_out);
// Several, in order; *done_out: the bytes before the first that failed or was not there.
enum pli_err pli_file_block_pieces(struct pli_file *f, bool is_write, struct pli_file_piece *pieces,
                                   int n, size_t *done_out);

// Write to memory that is the file through a mapping, before the end of the file, while another
// writes elsewhere. False: it is to be written in another way.
bool pli_file_block_store(struct pli_file *f, const char *buf, size_t len, MPI_Offset at);

#endif
