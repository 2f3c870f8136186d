// SPDX-License-Identifier: BSD-3-Clause
// Completion of requests: wait and test, one, any, some, all; and what else takes request handles.
// [MPI-5.0 3.7]
#ifndef PLI_GLUE_WAIT_H
#define PLI_GLUE_WAIT_H

#include <mpi.h>

int pli_wait_wait(MPI_Request *request, MPI_Status *status);
int pli_wait_test(MPI_Request *request, int *flag, MPI_Status *status);
int pli_wait_waitall(int n, MPI_Request reqs[], MPI_Status *statuses);
int pli_wait_testall(int n, MPI_Request reqs[], int *flag, MPI_Status *statuses);
int pli_wait_waitany(int n, MPI_Request reqs[], int *index, MPI_Status *status);
int pli_wait_testany(int n, MPI_Request reqs[], int *index, int *flag, MPI_Status *status);
int pli_wait_waitsome(int n, MPI_Request reqs[], int *n_out, int indices[], MPI_Status *statuses);
int pli_wait_testsome(int n, MPI_Request reqs[], int *n_out, int indices[], MPI_Status *statuses);

#endif
