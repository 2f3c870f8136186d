// SPDX-License-Identifier: BSD-3-Clause
// MPI_COMM_RESIZED_WORLD, a place that programs read and may write; MPI_Fork.
#ifndef PLI_GLUE_ELASTIC_CALLS_H
#define PLI_GLUE_ELASTIC_CALLS_H

#include <mpi.h>

MPI_Comm *pli_elastic_calls_resized(void);
int pli_elastic_calls_fork(int m);
int pli_elastic_calls_fork_with_info(int m, MPI_Info info);
MPI_Comm pli_elastic_calls_parents(void);
MPI_Comm pli_elastic_calls_children(void);

#endif
