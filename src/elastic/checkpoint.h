// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints that the program asks for. The launcher makes them; see docs/design/checkpoint.md.
#ifndef PLI_ELASTIC_CHECKPOINT_H
#define PLI_ELASTIC_CHECKPOINT_H

#include "base/err.h"

struct pli_comm;

// MPIX_Checkpoint and MPIX_Checkpoint_wanted.
enum pli_err pli_checkpoint_make(struct pli_comm *comm, int *is_restarted_out);
enum pli_err pli_checkpoint_wanted(int *flag_out);

#endif
