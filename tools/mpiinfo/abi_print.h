// SPDX-License-Identifier: BSD-3-Clause
// Says of which MPI a program is, and whether it runs on this one.
#ifndef PLI_MPIINFO_ABI_PRINT_H
#define PLI_MPIINFO_ABI_PRINT_H

#include <stdbool.h>

// Print what a program's file needs of an MPI, and what the libraries it needs do. A script is
// judged by its interpreter. False: something is missing, or there is no such file.
bool pli_abi_print_file(const char *file);

#endif
