// SPDX-License-Identifier: BSD-3-Clause
// Programs of any MPI with the standard ABI: which library the loader finds for one, and the mpiexec
// that belongs to it.
#ifndef PLI_IMPIRUN_ABI_H
#define PLI_IMPIRUN_ABI_H

// The library with the standard ABI that the loader finds for the program in this file; NULL: none,
// or one of Pliant MPI.
const char *pli_impirun_abi_library(const char *program);

// The mpiexec of the installation that the library is of; NULL: there is none.
const char *pli_impirun_abi_mpiexec(const char *library);

#endif
