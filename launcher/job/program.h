// SPDX-License-Identifier: BSD-3-Clause
// Finds the programs to run, before anything is started.
#ifndef PLI_LAUNCHER_PROGRAM_H
#define PLI_LAUNCHER_PROGRAM_H

#include <stdbool.h>

struct pli_app;

// Set app->path; app->env is there already. Ends mpiexec with a sentence when the
// program or its directory cannot be used, or, unless takes_foreign, the program was built with
// another MPI.
void pli_program_find(struct pli_app *app, bool takes_foreign);

#endif
