// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type. [MPI-5.0 7.4.2]
#ifndef PLI_COMM_COMM_SPLIT_TYPE_H
#define PLI_COMM_COMM_SPLIT_TYPE_H

#include "base/err.h"

struct pli_comm;
struct pli_info;

enum pli_err pli_comm_split_type_split(struct pli_comm *comm, int type, int key,
                                       struct pli_info *info, struct pli_comm **out);

#endif
