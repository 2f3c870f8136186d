// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line.
#ifndef PLI_LAUNCHER_CMDLINE_H
#define PLI_LAUNCHER_CMDLINE_H

struct pli_job;

// Fill in job->opt and job->apps. What is wrong is said in one sentence, and the process ends
// before anything was started; --help and --version end it too.
void pli_cmdline_read(struct pli_job *job, int argc, char **argv);

#endif
