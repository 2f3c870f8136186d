// SPDX-License-Identifier: BSD-3-Clause
// Programs that were built with another MPI: what their files ask the loader for.
#ifndef PLI_LAUNCHER_FOREIGN_MPI_H
#define PLI_LAUNCHER_FOREIGN_MPI_H

#include <stdbool.h>

// A library by which a program is known to be one of an MPI.
struct pli_foreign_mpi {
    const char *begin;  // of its name: up to the number of its version, or all of it
    const char *mpi;    // "Open MPI"
    const char *folder; // of lib/pliant, with the library of this name that translates; NULL: none
    bool is_above;      // it is used as it is, above the one that translates
};

// What is known of a library, by the name that the loader is asked for; NULL: it is of no other
// MPI.
const struct pli_foreign_mpi *pli_foreign_mpi_find(const char *library);

// Call fn with the name of each library that a program's file asks for, until it returns false.
// Nothing is called for a script, or for what cannot be read. Context: any thread.
void pli_foreign_mpi_each(const char *path, bool (*fn)(const char *library, void *arg), void *arg);

// The folders that a program's file names for its libraries, with colons between them, and whether
// the loader looks there before it heeds LD_LIBRARY_PATH; NULL: there are none. To be freed.
// Context: any thread.
char *pli_foreign_mpi_folders(const char *path, bool *is_first_out);

// The MPI that was linked into a program that asks for no library at all ("Open MPI"); NULL: it is
// a script, asks for libraries, or has no other MPI in it. Context: any thread.
const char *pli_foreign_mpi_static(const char *path);

#endif
