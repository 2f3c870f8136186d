// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of state that programs register: each rank writes its piece to a file, and after a
// restart with any number of ranks the pieces are shared out among them. This needs neither
// privileges nor CRIU.
#ifndef PLI_ELASTIC_REGISTERED_H
#define PLI_ELASTIC_REGISTERED_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;

// MPIX_Checkpoint_register. Context: any thread.
enum pli_err pli_registered_register(const char *name, MPIX_Checkpoint_size_function *size_fn,
                                     MPIX_Checkpoint_pack_function *pack_fn,
                                     MPIX_Checkpoint_unpack_function *unpack_fn, void *arg);

// Agree that all members of comm succeeded (mine: this rank's error); otherwise all fail with the
// error of the first that did. Collective.
enum pli_err pli_registered_agree(struct pli_comm *comm, enum pli_err mine);

// Write what is registered to a file of this rank in a directory.
enum pli_err pli_registered_write(const char *dir, int rank);

// MPIX_Checkpoint_restore: collective. 0 pieces: the job was not restarted from a checkpoint.
enum pli_err pli_registered_restore(struct pli_comm *comm, int *n_piece_out);

#endif
