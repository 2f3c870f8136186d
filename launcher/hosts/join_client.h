// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --join of an elastic world: it asks the mpiexec that hosts the world, and becomes a
// daemon of that job, for one host with ranks of its own program. What they print is printed here.
#ifndef PLI_LAUNCHER_JOIN_CLIENT_H
#define PLI_LAUNCHER_JOIN_CLIENT_H

struct pli_job;

// Join, run, and leave with the world. Returns the exit status of mpiexec.
int pli_join_client_run(struct pli_job *job, char **argv);

#endif
