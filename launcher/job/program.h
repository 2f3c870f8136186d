// SPDX-License-Identifier: BSD-3-Clause
// Finds the programs to run, before anything is started.
#ifndef PLI_LAUNCHER_PROGRAM_H
#define PLI_LAUNCHER_PROGRAM_H

struct pli_app;
struct pli_options;

// Set app->path; app->env is there already. Ends mpiexec with a sentence when the program or its
// directory cannot be used, or the program was built with another MPI that the options do not
// offer.
void pli_program_find(struct pli_app *app, const struct pli_options *opt);

#endif
