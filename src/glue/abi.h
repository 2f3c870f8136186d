// SPDX-License-Identifier: BSD-3-Clause
// Questions about the binary interface. [MPI-5.0 20]
#ifndef PLI_GLUE_ABI_H
#define PLI_GLUE_ABI_H

#include "base/err.h"

struct pli_info;

enum pli_err pli_abi_version(int *major_out, int *minor_out);
enum pli_err pli_abi_info(struct pli_info **out);

// What a Fortran layer registered about its compiler, once; MPI_INFO_NULL before.
enum pli_err pli_abi_set_fortran_info(struct pli_info *info);
enum pli_err pli_abi_get_fortran_info(struct pli_info **out);
enum pli_err pli_abi_set_fortran_booleans(int size, void *yes, void *no);
enum pli_err pli_abi_get_fortran_booleans(int size, void *yes_out, void *no_out, int *is_set_out);

#endif
