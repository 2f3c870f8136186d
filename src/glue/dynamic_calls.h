// SPDX-License-Identifier: BSD-3-Clause
// Calls about new processes whose arguments count at one process only.
#ifndef PLI_GLUE_DYNAMIC_CALLS_H
#define PLI_GLUE_DYNAMIC_CALLS_H

#include <mpi.h>

int pli_dynamic_calls_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info,
                            int root, MPI_Comm comm, MPI_Comm *intercomm, int errcodes[]);
int pli_dynamic_calls_spawn_multiple(int count, char *commands[], char **argvs[],
                                     const int maxprocs[], const MPI_Info infos[], int root,
                                     MPI_Comm comm, MPI_Comm *intercomm, int errcodes[]);
int pli_dynamic_calls_join(int fd, MPI_Comm *intercomm);

#endif
