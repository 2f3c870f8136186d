// SPDX-License-Identifier: BSD-3-Clause
// Calls that accept MPI_WIN_NULL.
#ifndef PLI_GLUE_WIN_CALLS_H
#define PLI_GLUE_WIN_CALLS_H

#include <mpi.h>

int pli_win_calls_free(MPI_Win *win); // one of the rank that this one was forked from too
int pli_win_calls_get_name(MPI_Win win, char *name, int *len);

#endif
