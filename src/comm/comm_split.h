// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split. [MPI-5.0 7.4.2]
#ifndef PLI_COMM_COMM_SPLIT_H
#define PLI_COMM_COMM_SPLIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;

#define PLI_FORK_SPLIT_NOWHERE INT64_MIN // a color that belongs to no child

enum pli_err pli_comm_split_split(struct pli_comm *comm, int color, int key, struct pli_comm **out);

// The same with wide colors: one child per color, ordered by key and then rank. *out is NULL for
// PLI_FORK_SPLIT_NOWHERE and, on an intercommunicator, for a color of one side only.
enum pli_err pli_comm_split_by(struct pli_comm *comm, int64_t color, int key,
                               struct pli_comm **out);

// The same; *any_out: whether any rank of the local group asked for something more.
enum pli_err pli_comm_split_ask(struct pli_comm *comm, int64_t color, int key, bool asks,
                                bool *any_out, struct pli_comm **out);

#endif
