// SPDX-License-Identifier: BSD-3-Clause
// Entry points of communicators that the generator has no form for.
#ifndef PLI_GLUE_COMM_CALLS_H
#define PLI_GLUE_COMM_CALLS_H

#include <mpi.h>

int pli_comm_calls_get_name(MPI_Comm comm, char *name, int *len); // MPI_COMM_NULL has one too
int pli_comm_calls_free(MPI_Comm *comm); // one of the rank that this one was forked from too

#endif
