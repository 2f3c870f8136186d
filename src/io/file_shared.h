// SPDX-License-Identifier: BSD-3-Clause
// The shared file pointer: a word of rank 0's memory, which all members of the file change without
// its help. [MPI-5.0 14.4.4]
#ifndef PLI_IO_FILE_SHARED_H
#define PLI_IO_FILE_SHARED_H

#include "base/err.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;
struct pli_file;

// Where the word is, as rank 0 tells the others.
struct pli_file_word {
    uint64_t offset;
    int64_t where; // 0: members are on several hosts
};

// Rank 0 makes the word, at 0, if all members can reach it as memory. It begins memory of len
// bytes, with a struct pli_file_head.
struct pli_file_word pli_file_shared_offer(struct pli_file *f, const struct pli_comm *comm,
                                           size_t len);
// The others find it; a window is made where it is not memory. Collective.
enum pli_err pli_file_shared_create(struct pli_file *f, struct pli_comm *comm,
                                    struct pli_file_word word);
// In a window, wherever the others are. Collective.
enum pli_err pli_file_shared_create_far(struct pli_file *f, struct pli_comm *comm);
void pli_file_shared_destroy(struct pli_file *f);
// In a process that was just forked: leave that of its parent alone. Returns where it is, which
// is not known where it is in a window.
MPI_Offset pli_file_shared_leave(struct pli_file *f);
// There, too: memory that the parent keeps for its next file.
void pli_file_shared_forget(void);
// All clones of members make one of their own. Collective.
enum pli_err pli_file_shared_make(struct pli_file *f, MPI_Offset to);
// As pli_file_shared_destroy, without the others, some of which may have none.
void pli_file_shared_drop(struct pli_file *f);

// Move the pointer by n etypes, and tell where it was. Context: no lock held.
enum pli_err pli_file_shared_advance(struct pli_file *f, MPI_Offset n, MPI_Offset *before_out);
// The same for all members, each by its n: where each of them begins, in the order of ranks.
// Collective.
enum pli_err pli_file_shared_order(struct pli_file *f, MPI_Offset n, MPI_Offset *before_out);
// Back to 0 in a new view. Collective.
enum pli_err pli_file_shared_reset(struct pli_file *f);
// The offset in the file where the pointer is; collective: nobody moves it meanwhile.
enum pli_err pli_file_shared_offset(struct pli_file *f, MPI_Offset *out);

// As the API table calls them.
enum pli_err pli_file_shared_seek(struct pli_file *f, MPI_Offset offset, int whence);
enum pli_err pli_file_shared_position(struct pli_file *f, MPI_Offset *out);

#endif
