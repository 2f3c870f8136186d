// SPDX-License-Identifier: BSD-3-Clause
// What programs register to be saved: each rank writes its pieces to a file, and after a restart
// with any number of ranks the pieces are shared out among them. Needs no privilege and no CRIU.
#ifndef PLI_ELASTIC_REGISTERED_H
#define PLI_ELASTIC_REGISTERED_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;

// MPIX_Checkpoint_register. Context: any thread.
enum pli_err pli_registered_register(const char *name, MPIX_Checkpoint_size_function *size_fn,
                                     MPIX_Checkpoint_pack_function *pack_fn,
                                     MPIX_Checkpoint_unpack_function *unpack_fn, void *arg);

// Whether all members of comm are well so far; else they all fail, for the reason of the first that
// is not. Collective.
enum pli_err pli_registered_agree(struct pli_comm *comm, enum pli_err mine);

// Write what is registered to a file of this rank in a directory.
enum pli_err pli_registered_write(const char *dir, int rank);

// MPIX_Checkpoint_restore: collective. 0 pieces: the job began here.
enum pli_err pli_registered_restore(struct pli_comm *comm, int *n_piece_out);

#endif
