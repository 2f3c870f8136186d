// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --join of an elastic world: it asks the mpiexec that hosts the world, and becomes a
// daemon of that job, for one host with ranks of its own program. What they print is printed here.
#ifndef PLI_LAUNCHER_JOIN_CLIENT_H
#define PLI_LAUNCHER_JOIN_CLIENT_H

struct pli_job;
struct pli_rank_failure;

// Join, run, and leave with the world. Returns the exit status of mpiexec.
int pli_join_client_run(struct pli_job *job, char **argv);

// The rest does nothing in a daemon that was not started so.

// Something happened to a rank here.
void pli_join_client_failed(const struct pli_rank_failure *c);
// The world has ended; why: the connection to its mpiexec was lost, NULL: it said so.
void pli_join_client_over(const char *why);
// After each turn of the loop: print what the ranks have printed, and leave if the job is ended.
void pli_join_client_step(void);
// Print all of it: this process ends.
void pli_join_client_drain(void);

#endif
