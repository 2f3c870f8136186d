// SPDX-License-Identifier: BSD-3-Clause
// The shared file pointer: a word of rank 0's memory, which all members of the file change without
// its help. [MPI-5.0 14.4.4]
#ifndef PLI_IO_FILE_SHARED_H
#define PLI_IO_FILE_SHARED_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_file;

// Make the pointer, at 0, and with it the communicator of the file. Collective.
enum pli_err pli_file_shared_create(struct pli_file *f, struct pli_comm *comm);
void pli_file_shared_destroy(struct pli_file *f);
// The same where other members may have none: nobody waits.
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
