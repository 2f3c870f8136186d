// SPDX-License-Identifier: BSD-3-Clause
// The special addresses of Open MPI's Fortran: each is a common block of its own, which the
// program, the modules' library and libmpi.so.40 define; the loader makes them one.
#ifndef PLI_OPENMPI_FORTRAN_SPECIAL_H
#define PLI_OPENMPI_FORTRAN_SPECIAL_H

#include <mpi.h>
#include <stdbool.h>

extern int mpi_fortran_bottom_, mpi_fortran_in_place_;
extern int mpi_fortran_unweighted_, mpi_fortran_weights_empty_, mpi_fortran_errcodes_ignore_;
extern int mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];
extern char mpi_fortran_argv_null_, mpi_fortran_argvs_null_;

static inline void *pli_argument_buffer(void *p)
{
    return p == &mpi_fortran_bottom_ ? MPI_BOTTOM : p == &mpi_fortran_in_place_ ? MPI_IN_PLACE : p;
}

static inline MPI_Status *pli_argument_status(int *p)
{
    return p == mpi_fortran_status_ignore_ || p == mpi_fortran_statuses_ignore_ ? MPI_STATUS_IGNORE
                                                                                : (MPI_Status *)p;
}

static inline int *pli_argument_weights(int *p)
{
    return p == &mpi_fortran_unweighted_      ? MPI_UNWEIGHTED
           : p == &mpi_fortran_weights_empty_ ? MPI_WEIGHTS_EMPTY
                                              : p;
}

static inline int *pli_argument_errcodes(int *p)
{
    return p == &mpi_fortran_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : p;
}

static inline bool pli_argument_is_argv_null(const char *p)
{
    return p == &mpi_fortran_argv_null_ || p == &mpi_fortran_argvs_null_;
}

#endif
