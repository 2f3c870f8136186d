// SPDX-License-Identifier: BSD-3-Clause
// The world model: a thin client of the session model. [MPI-5.0 11.2]
#ifndef PLI_GLUE_WORLD_H
#define PLI_GLUE_WORLD_H

#include "base/err.h"

#include <mpi.h>

int pli_world_init(int *argc, char ***argv);
int pli_world_init_thread(int *argc, char ***argv, int required, int *provided);
int pli_world_init_endpoints(int *argc, void *argv, int count, int required, int *provided);
int pli_world_finalize(void);
int pli_world_initialized(int *flag);
int pli_world_init_endpoints(int *argc, void *argv, int count, int required, int *provided);
int pli_world_finalized(int *flag);
int pli_world_query_thread(int *provided);
int pli_world_is_thread_main(int *flag);
int pli_world_abort(MPI_Comm comm, int code);

// Make the intercommunicator with the parent, in a process that was spawned, once: its first
// MPI_Init or MPI_Session_init. Waits for those that were spawned with it. Context: MPI is open.
enum pli_err pli_world_connect_parent(void);

// Whether the thread level lets the calling thread call MPI at all. Context: the world is open.
enum pli_err pli_world_may_call(void);

#endif
