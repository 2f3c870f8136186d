// SPDX-License-Identifier: BSD-3-Clause
// Statuses between C and Fortran: the same eight integers in the same order.
#include "glue/convert.h"

#include <string.h>

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "one layout for both");

enum pli_err pli_convert_status_c2f(const MPI_Status *from, MPI_Fint *to)
{
    if (from == MPI_STATUS_IGNORE) {
        return pli_fail(PLI_ERR_ARG, "argument c_status is MPI_STATUS_IGNORE, which has no value");
    }
    memcpy(to, from, sizeof *from);
    return PLI_OK;
}

enum pli_err pli_convert_status_f2c(const MPI_Fint *from, MPI_Status *to)
{
    if (from == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument f_status is NULL");
    }
    memcpy(to, from, sizeof *to);
    return PLI_OK;
}
