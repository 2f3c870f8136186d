// SPDX-License-Identifier: BSD-3-Clause
// Calls that MPI 3.0 removed and that are more than other names of present ones.
#include "glue/removed_calls.h"

int pli_removed_extent(MPI_Datatype type, MPI_Aint *extent)
{
    MPI_Aint lb;
    return PMPI_Type_get_extent(type, &lb, extent);
}

int pli_removed_lb(MPI_Datatype type, MPI_Aint *lb)
{
    MPI_Aint extent;
    return PMPI_Type_get_extent(type, lb, &extent);
}

int pli_removed_ub(MPI_Datatype type, MPI_Aint *ub)
{
    MPI_Aint lb = 0;
    int code = PMPI_Type_get_extent(type, &lb, ub);
    if (code == MPI_SUCCESS) {
        *ub += lb;
    }
    return code;
}
