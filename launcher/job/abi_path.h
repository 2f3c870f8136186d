// SPDX-License-Identifier: BSD-3-Clause
// Where the loader finds the libraries that let programs of other MPIs run.
#ifndef PLI_LAUNCHER_ABI_PATH_H
#define PLI_LAUNCHER_ABI_PATH_H

#include "launcher/job/job.h"

// The folder lib/pliant that belongs to this mpiexec; false: it cannot be found.
bool pli_abi_path_base(char *to, size_t cap);

// LD_LIBRARY_PATH of the ranks: the folders that the job offers, then `old` (NULL: nothing). NULL:
// it offers none. The string is of the heap.
char *pli_abi_path_make(const struct pli_options *opt, const char *old);

// The program of this part was found. Ends mpiexec with a sentence when it needs a library of
// another MPI that is not offered; takes the folders out of its environment when it is one of the
// standard ABI.
void pli_abi_path_check(const struct pli_options *opt, struct pli_app *app, const char *path);

#endif
