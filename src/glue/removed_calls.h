// SPDX-License-Identifier: BSD-3-Clause
// Calls that MPI 3.0 took out and that are more than other names.
#ifndef PLI_GLUE_REMOVED_CALLS_H
#define PLI_GLUE_REMOVED_CALLS_H

#include <mpi.h>

int pli_removed_extent(MPI_Datatype type, MPI_Aint *extent);
int pli_removed_lb(MPI_Datatype type, MPI_Aint *lb);
int pli_removed_ub(MPI_Datatype type, MPI_Aint *ub);

#endif
