// SPDX-License-Identifier: BSD-3-Clause
// <mpi.h> for UPC threads that are OS threads: each thread is a rank of its own, so what the world
// is, and whether MPI is initialised, is the thread's and not the process's. Files of plain C that
// are compiled without upcc see the process.
#include_next <mpi.h>
#ifndef PLI_UPC_PTHREADS_MPI_H
#define PLI_UPC_PTHREADS_MPI_H

MPI_Comm pli_upc_mpi_comm_world(void);
MPI_Comm pli_upc_mpi_comm_self(void);
int pli_upc_mpi_init(int *argc, char ***argv);
int pli_upc_mpi_init_thread(int *argc, char ***argv, int required, int *provided);
int pli_upc_mpi_finalize(void);
int pli_upc_mpi_initialized(int *flag);
int pli_upc_mpi_finalized(int *flag);

#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD pli_upc_mpi_comm_world()
#define MPI_COMM_SELF pli_upc_mpi_comm_self()
#define MPI_Init pli_upc_mpi_init
#define MPI_Init_thread pli_upc_mpi_init_thread
#define MPI_Finalize pli_upc_mpi_finalize
#define MPI_Initialized pli_upc_mpi_initialized
#define MPI_Finalized pli_upc_mpi_finalized

#endif
