// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split. [MPI-5.0 7.4.2]
#ifndef PLI_COMM_COMM_SPLIT_H
#define PLI_COMM_COMM_SPLIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;

#define PLI_COMM_SPLIT_NO_COLOR INT64_MIN // the rank gets no communicator

enum pli_err pli_comm_split_split(struct pli_comm *comm, int color, int key, struct pli_comm **out);

// The same with 64-bit colors: one communicator per color, ordered by key and then rank. *out is
// NULL for PLI_COMM_SPLIT_NO_COLOR and, on an intercommunicator, for a color of one group only.
enum pli_err pli_comm_split_by(struct pli_comm *comm, int64_t color, int key,
                               struct pli_comm **out);

// The same; *any_out: whether any rank of the local group set its flag.
enum pli_err pli_comm_split_ask(struct pli_comm *comm, int64_t color, int key, bool asks,
                                bool *any_out, struct pli_comm **out);

#endif
