// SPDX-License-Identifier: BSD-3-Clause
// What the library below is told of Fortran.
#ifndef PLI_FORTRAN_REGISTER_H
#define PLI_FORTRAN_REGISTER_H

// Tells it the sizes of default types and the values of LOGICALs (MPI_Abi_set_fortran_info),
// unless the program did. Called when MPI is initialised from Fortran.
void pli_register_sizes(void);

#endif
