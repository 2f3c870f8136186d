// SPDX-License-Identifier: BSD-3-Clause
// Programs that were built with another MPI.
#ifndef PLI_LAUNCHER_FOREIGN_MPI_H
#define PLI_LAUNCHER_FOREIGN_MPI_H

#include <stddef.h>

// Whether the program in this file needs the library of another MPI, of which each of its processes
// would be a world of one rank: the name of that library in `library`, and which MPI's it is.
// NULL: it does not, or it is a script, or cannot be read. Context: any thread.
const char *pli_foreign_mpi_mpi(const char *path, char *library, size_t cap);

#endif
