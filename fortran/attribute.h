// SPDX-License-Identifier: BSD-3-Clause
// Values of attributes that Fortran sets and reads.
#ifndef PLI_FORTRAN_ATTRIBUTE_H
#define PLI_FORTRAN_ATTRIBUTE_H

#include <mpi.h>

// The address that C keeps for a value of Fortran: C programs read the value there, as the
// standard asks. NULL: no memory.
void *pli_attribute_keep(MPI_Aint value);

// The value for Fortran of what C keeps under a key: that of pli_attribute_keep, else the
// address; predefined attributes, where C has the address of a number, give the number.
MPI_Aint pli_attribute_value(void *kept, int keyval);

#endif
