// SPDX-License-Identifier: BSD-3-Clause
// Leads calls of MPI through several tools, each of which knows MPI_X and PMPI_X alone.
#ifndef PLI_TRACE_STACK_H
#define PLI_TRACE_STACK_H

#include <mpi.h>
#include <stdbool.h>

extern const char *const pli_stack_names[]; // all functions, pli_stack_n of them
extern const int pli_stack_n;

// What function number n leads to for a caller whose code is at this address: a program's MPI_X to
// the first tool that has one, a tool's PMPI_X to the next tool's MPI_X, the last one's to MPI.
void *pli_stack_next(int n, bool is_pmpi, const void *caller);

#endif
