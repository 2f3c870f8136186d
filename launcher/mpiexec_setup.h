// SPDX-License-Identifier: BSD-3-Clause
// Makes the state of the launcher, and from the command line the plan of the job.
#ifndef PLI_LAUNCHER_MPIEXEC_SETUP_H
#define PLI_LAUNCHER_MPIEXEC_SETUP_H

struct pli_job;

// Make all that pli_launcher names. Context: once, before anything else.
void pli_mpiexec_setup_launcher(void);

// Read the command line, or that of the checkpoint that it names. Returns argv as it counts.
char **pli_mpiexec_setup_read(struct pli_job *job, int argc, char **argv);

// Make the tasks of the job, place them, and choose pli_launcher.role. Both end the process with a
// sentence where something is wrong.
void pli_mpiexec_setup_plan(struct pli_job *job);

#endif
