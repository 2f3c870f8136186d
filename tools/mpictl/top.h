// SPDX-License-Identifier: BSD-3-Clause
// mpictl top: a live view of the ranks of a job.
#ifndef PLI_MPICTL_TOP_H
#define PLI_MPICTL_TOP_H

#include <stdio.h>

struct pli_job_view;
struct pli_mpictl_args;

// Returns the exit status.
int pli_top_run(const struct pli_mpictl_args *args, long pid);

// The table of one look.
void pli_top_print(const struct pli_mpictl_args *args, struct pli_job_view *v, FILE *to);

#endif
