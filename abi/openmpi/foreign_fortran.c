// SPDX-License-Identifier: BSD-3-Clause
// What Open MPI's C library has for Fortran: the common blocks of the special addresses. A
// program's own take their place, so all look them up by the loader.
#include "foreign_types.h"

// As long as the longest form that a program has.
int mpi_fortran_bottom_, mpi_fortran_in_place_;
int mpi_fortran_unweighted_, mpi_fortran_weights_empty_, mpi_fortran_errcodes_ignore_;
int mpi_fortran_status_ignore_[sizeof(F_Status) / sizeof(int)];
int mpi_fortran_statuses_ignore_[sizeof(F_Status) / sizeof(int)];
char mpi_fortran_argv_null_, mpi_fortran_argvs_null_;

MPI_Fint *MPI_F_STATUS_IGNORE = mpi_fortran_status_ignore_;
MPI_Fint *MPI_F_STATUSES_IGNORE = mpi_fortran_statuses_ignore_;

// Of Open MPI 5, for mpi_f08. The standard ABI's header has these names for another type.
extern void *f08_status_ignore __asm__("MPI_F08_STATUS_IGNORE");
extern void *f08_statuses_ignore __asm__("MPI_F08_STATUSES_IGNORE");
void *f08_status_ignore = mpi_fortran_status_ignore_;
void *f08_statuses_ignore = mpi_fortran_statuses_ignore_;
