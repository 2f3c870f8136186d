// SPDX-License-Identifier: BSD-3-Clause
// Functions that the standard ABI does not have: another library of MPI may lack them, and the
// program finds that out when it calls one.
#ifndef PLI_FORTRAN_MISSING_H
#define PLI_FORTRAN_MISSING_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

// A linker takes nothing out of an archive for a weak reference; programs of Open MPI run on this
// library alone.
#if defined(PLI_FORTRAN_STATIC) || defined(PLI_FORTRAN_OF_OPENMPI)
#define PLI_MISSING_DECLARE(function)
#define PLI_MISSING_IS(function) false
#else
#define PLI_MISSING_DECLARE(function) extern __typeof__(function) function __attribute__((weak));
#define PLI_MISSING_IS(function) __builtin_expect((function) == NULL, 0)
#endif

// The error code for it, after the error handler of MPI_COMM_SELF was called.
int pli_missing_fail(const char *function);

// In place of functions that MPI 3.0 took out and for which no other has the same arguments.
int pli_missing_type_extent(MPI_Datatype type, MPI_Aint *extent);
int pli_missing_type_lb(MPI_Datatype type, MPI_Aint *lb);
int pli_missing_type_ub(MPI_Datatype type, MPI_Aint *ub);

#endif
