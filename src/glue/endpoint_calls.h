// SPDX-License-Identifier: BSD-3-Clause
// Entry points of endpoints that the generator has no form for.
#ifndef PLI_GLUE_ENDPOINT_CALLS_H
#define PLI_GLUE_ENDPOINT_CALLS_H

#include <mpi.h>

int pli_endpoint_calls_create(MPI_Comm parent, int n, MPI_Info info, MPI_Comm out[]);
int pli_endpoint_calls_create_ranked(MPI_Comm parent, int n, const int ranks[], MPI_Info info,
                                     MPI_Comm out[]);
int pli_endpoint_calls_attach(MPI_Comm comm, int index);

#endif
