// SPDX-License-Identifier: BSD-3-Clause
// What is done where the library of MPI below lacks a function that the standard ABI does not have.
#include "fortran/missing.h"

#include <stdio.h>

int pli_missing_fail(const char *function)
{
    char text[MPI_MAX_ERROR_STRING];
    snprintf(text, sizeof text,
             "the MPI library in use has no %s, which is not in the standard ABI: run the program "
             "with the library that it was built with",
             function);
    int code = MPI_ERR_UNSUPPORTED_OPERATION, made = 0;
    if (PMPI_Add_error_code(MPI_ERR_UNSUPPORTED_OPERATION, &made) == MPI_SUCCESS &&
        PMPI_Add_error_string(made, text) == MPI_SUCCESS) {
        code = made;
    }
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    return code;
}

int pli_missing_type_extent(MPI_Datatype type, MPI_Aint *extent)
{
    MPI_Aint lb = 0;
    return PMPI_Type_get_extent(type, &lb, extent);
}

int pli_missing_type_lb(MPI_Datatype type, MPI_Aint *lb)
{
    MPI_Aint extent = 0;
    return PMPI_Type_get_extent(type, lb, &extent);
}

int pli_missing_type_ub(MPI_Datatype type, MPI_Aint *ub)
{
    MPI_Aint lb = 0, extent = 0;
    int err = PMPI_Type_get_extent(type, &lb, &extent);
    *ub = err == MPI_SUCCESS ? lb + extent : 0;
    return err;
}
