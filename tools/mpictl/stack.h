// SPDX-License-Identifier: BSD-3-Clause
// mpictl stack: where the threads of a rank are.
#ifndef PLI_MPICTL_STACK_H
#define PLI_MPICTL_STACK_H

#include "job_view.h"

#include <stdio.h>

// Print the stacks of a rank, or of all (UINT32_MAX). Returns the exit status.
int pli_stack_run(long pid, uint32_t rank);

// The same into a stream. False: there is no such rank, or its stack cannot be shown.
bool pli_stack_print(struct pli_job_view *v, uint32_t rank, FILE *to);

#endif
