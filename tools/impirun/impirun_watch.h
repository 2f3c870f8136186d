// SPDX-License-Identifier: BSD-3-Clause
// Watches the launcher of another MPI, which does not tell whether its processes are of MPI at all:
// a job that ends before any of them has called MPI_Init is missed by the others, who wait for it.
#ifndef PLI_IMPIRUN_WATCH_H
#define PLI_IMPIRUN_WATCH_H

// Set the environment in which libimpi says that a process has called MPI_Init.
void pli_impirun_watch_open(void);

// Run the command line; `part` names the job. Returns its exit status.
int pli_impirun_watch(char **argv, char **part);

#endif
