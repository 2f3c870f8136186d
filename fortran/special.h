// SPDX-License-Identifier: BSD-3-Clause
// The special addresses of Fortran (MPI_BOTTOM, MPI_STATUS_IGNORE and their like), for those of C.
#ifndef PLI_FORTRAN_SPECIAL_H
#define PLI_FORTRAN_SPECIAL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef PLI_FORTRAN_OF_OPENMPI
#include "abi/openmpi/fortran_special.h"
#else

// The common blocks of mpif.h and of the modules. Only the addresses of their members mean
// something.
struct pli_special {
    int bottom, in_place, buffer_automatic;
    int unweighted[1], weights_empty[1], errcodes_ignore[1];
    int status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
};
struct pli_special_argv {
    char argv_null, argvs_null;
};
// A program's own common block takes the place of the library's, so the address is looked up at
// run time.
extern struct pli_special pliant_mpi_special_;
extern struct pli_special_argv pliant_mpi_argv_;

static inline bool pli_argument_is_special(const void *p)
{
    return (uintptr_t)p - (uintptr_t)&pliant_mpi_special_ < sizeof pliant_mpi_special_;
}

// A choice buffer.
static inline void *pli_argument_buffer(void *p)
{
    if (__builtin_expect(!pli_argument_is_special(p), 1)) {
        return p;
    }
    return p == &pliant_mpi_special_.bottom             ? MPI_BOTTOM
           : p == &pliant_mpi_special_.in_place         ? MPI_IN_PLACE
           : p == &pliant_mpi_special_.buffer_automatic ? MPI_BUFFER_AUTOMATIC
                                                        : p;
}

static inline MPI_Status *pli_argument_status(int *p)
{
    return __builtin_expect(pli_argument_is_special(p), 0) ? MPI_STATUS_IGNORE : (MPI_Status *)p;
}

static inline int *pli_argument_weights(int *p)
{
    return p == pliant_mpi_special_.unweighted      ? MPI_UNWEIGHTED
           : p == pliant_mpi_special_.weights_empty ? MPI_WEIGHTS_EMPTY
                                                    : p;
}

static inline int *pli_argument_errcodes(int *p)
{
    return p == pliant_mpi_special_.errcodes_ignore ? MPI_ERRCODES_IGNORE : p;
}

static inline bool pli_argument_is_argv_null(const char *p)
{
    return (uintptr_t)p - (uintptr_t)&pliant_mpi_argv_ < sizeof pliant_mpi_argv_;
}

#endif
#endif
