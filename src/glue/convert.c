// SPDX-License-Identifier: BSD-3-Clause
// Statuses between C and the forms of Fortran: the same eight integers in the same order.
#include "glue/convert.h"

#include <string.h>

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "one layout for all");

// Where no Fortran library is loaded they point to these; it sets them to the program's own.
static MPI_Status no_fortran[2];
MPI_Fint *MPI_F_STATUS_IGNORE = &no_fortran[0].MPI_SOURCE;
MPI_Fint *MPI_F_STATUSES_IGNORE = &no_fortran[1].MPI_SOURCE;
MPI_F08_status *MPI_F08_STATUS_IGNORE = &no_fortran[0];
MPI_F08_status *MPI_F08_STATUSES_IGNORE = &no_fortran[1];

static enum pli_err copy(const void *from, void *to)
{
    memcpy(to, from, sizeof(MPI_Status));
    return PLI_OK;
}

static enum pli_err copy_from_c(const MPI_Status *from, void *to)
{
    if (from == MPI_STATUS_IGNORE) {
        return pli_fail(PLI_ERR_ARG, "argument c_status is MPI_STATUS_IGNORE, which has no value");
    }
    return copy(from, to);
}

static enum pli_err copy_from_f(const MPI_Fint *from, void *to)
{
    if (from == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument f_status is NULL");
    }
    if (from == MPI_F_STATUS_IGNORE || from == MPI_F_STATUSES_IGNORE) {
        return pli_fail(PLI_ERR_ARG, "argument f_status is %s, which has no value",
                        from == MPI_F_STATUS_IGNORE ? "MPI_F_STATUS_IGNORE"
                                                    : "MPI_F_STATUSES_IGNORE");
    }
    return copy(from, to);
}

static enum pli_err copy_from_f08(const MPI_F08_status *from, void *to)
{
    if (from == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument f08_status is NULL");
    }
    if (from == MPI_F08_STATUS_IGNORE || from == MPI_F08_STATUSES_IGNORE) {
        return pli_fail(PLI_ERR_ARG, "argument f08_status is %s, which has no value",
                        from == MPI_F08_STATUS_IGNORE ? "MPI_F08_STATUS_IGNORE"
                                                      : "MPI_F08_STATUSES_IGNORE");
    }
    return copy(from, to);
}

enum pli_err pli_convert_status_c2f(const MPI_Status *from, MPI_Fint *to)
{
    return copy_from_c(from, to);
}

enum pli_err pli_convert_status_f2c(const MPI_Fint *from, MPI_Status *to)
{
    return copy_from_f(from, to);
}

enum pli_err pli_convert_status_c2f08(const MPI_Status *from, MPI_F08_status *to)
{
    return copy_from_c(from, to);
}

enum pli_err pli_convert_status_f082c(const MPI_F08_status *from, MPI_Status *to)
{
    return copy_from_f08(from, to);
}

enum pli_err pli_convert_status_f2f08(const MPI_Fint *from, MPI_F08_status *to)
{
    return copy_from_f(from, to);
}

enum pli_err pli_convert_status_f082f(const MPI_F08_status *from, MPI_Fint *to)
{
    return copy_from_f08(from, to);
}
