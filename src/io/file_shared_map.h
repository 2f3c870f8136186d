// SPDX-License-Identifier: BSD-3-Clause
// Lines of a log: with the hint pliant_shared_map data that is written with the shared pointer is
// stored in a mapping of the file, without a system call. The file is longer than what was written
// until the next collective call that makes it exact.
#ifndef PLI_IO_FILE_SHARED_MAP_H
#define PLI_IO_FILE_SHARED_MAP_H

#include "base/err.h"
#include "io/file.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_file;
struct pli_file_access;

// In memory that all members share. Those who write lines change but two cache lines of it: that of
// the shared pointer, and one of their own.
struct pli_file_words {
    struct pli_file_head head;
    _Atomic MPI_Offset room; // how long the file is made at most; 0: as long as what was written
    _Atomic MPI_Offset made; // to here it has space
    struct {
        _Atomic MPI_Offset end;
        char rest[64 - sizeof(MPI_Offset)];
    } members[]; // the largest is what the size of the file would be, had no space been added
};

// Rank 0, which has opened the file: how much memory all share; it begins with the shared pointer.
size_t pli_file_shared_map_len(const struct pli_file *f);
// It has that memory, and notes there how long the file is; false: the hint does not apply.
bool pli_file_shared_map_offer(struct pli_file *f);
// Every member, where rank 0 did. Closing forgets what is mapped, and is allowed without.
enum pli_err pli_file_shared_map_open(struct pli_file *f);
void pli_file_shared_map_close(struct pli_file *f);
// Every access that wrote notes how far it came.
void pli_file_shared_map_note(struct pli_file *f, const struct pli_file_access *a);
// Store a line. False: it must be written in another way.
bool pli_file_shared_map_write(struct pli_file_access *a);
// The size as MPI tells it: `size` is what the system says.
MPI_Offset pli_file_shared_map_size(const struct pli_file *f, MPI_Offset size);
// The next two: all members call them while none writes, and meet before one of them writes again.
// Rank 0 has set the size, or made the file that long at least.
void pli_file_shared_map_reset(struct pli_file *f, MPI_Offset size, bool is_exact);
// Space that holds nothing is taken away: by rank 0, or by each member where rank 0 may be dead.
enum pli_err pli_file_shared_map_trim(struct pli_file *f, bool is_each);

#endif
