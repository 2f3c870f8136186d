// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: one message whose parts become ready one by one. [MPI-5.0 4]
#ifndef PLI_MSG_PART_H
#define PLI_MSG_PART_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_datatype;
struct pli_info;
struct pli_request;

enum pli_err pli_part_psend_init(const void *buf, int n_part, MPI_Count count,
                                 struct pli_datatype *type, int dest, int tag,
                                 struct pli_comm *comm, struct pli_info *info,
                                 struct pli_request **out);
enum pli_err pli_part_precv_init(void *buf, int n_part, MPI_Count count, struct pli_datatype *type,
                                 int source, int tag, struct pli_comm *comm, struct pli_info *info,
                                 struct pli_request **out);
enum pli_err pli_part_pready(int part, struct pli_request *r);
enum pli_err pli_part_pready_range(int low, int high, struct pli_request *r);
enum pli_err pli_part_pready_list(int n, const int parts[], struct pli_request *r);
enum pli_err pli_part_parrived(struct pli_request *r, int part, int *flag);

#endif
