// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line of mpiexec.
#ifndef PLI_LAUNCHER_CMDLINE_H
#define PLI_LAUNCHER_CMDLINE_H

struct pli_job;

// Fill in job->opt and job->apps. A mistake is reported in one sentence, and the process ends
// before anything is started; --help and --version end it too.
void pli_cmdline_read(struct pli_job *job, int argc, char **argv);

#endif
