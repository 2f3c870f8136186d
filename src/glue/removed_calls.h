// SPDX-License-Identifier: BSD-3-Clause
// Calls that MPI 3.0 took out and that are more than other names.
#ifndef PLI_GLUE_REMOVED_CALLS_H
#define PLI_GLUE_REMOVED_CALLS_H

#include <mpi.h>

int pli_removed_extent(MPI_Datatype type, MPI_Aint *extent);
int pli_removed_lb(MPI_Datatype type, MPI_Aint *lb);
int pli_removed_ub(MPI_Datatype type, MPI_Aint *ub);
// Types may be MPI_LB and MPI_UB.
int pli_removed_struct(int count, const int lens[], const MPI_Aint displs[],
                       const MPI_Datatype types[], MPI_Datatype *newtype);

#endif
