// SPDX-License-Identifier: BSD-3-Clause
// MPI as seen by UPC threads that are OS threads: initialised for the process by the first that
// asks; the world of each is its own endpoint of one communicator. See include/pthreads/mpi.h.
#include "start.h"
#include "upc_link.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if PLI_UPC_PTHREADS

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int is_open;     // guarded by guard
static MPI_Comm *world; // by thread of this process; NULL: only the process has a rank

static __thread enum { BEFORE, DURING, AFTER } state;
static __thread MPI_Comm self_comm;
static __thread int has_begun; // by use, without MPI_Init

static int open_world(void)
{
    const char *why;
    int provided, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (rc != MPI_SUCCESS || !pli_upc_mpi_is_joined() || pli_upc_mpi_is_funneled()) {
        return rc;
    }
    world = calloc((size_t)pli_upc_n_here(), sizeof *world);
    if (world == NULL || pli_upc_mpi_world((void **)world, &why) != 0) {
        fprintf(stderr, "MPI_Init: %s\n", world == NULL ? "no memory" : why);
        pli_upc_global_exit(1);
    }
    return rc;
}

int pli_upc_mpi_init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    int rc = MPI_SUCCESS;
    if (state == DURING && has_begun) {
        has_begun =
            0; // a use of MPI_COMM_WORLD came first: from now on the program itself finalizes
        return rc;
    }
    if (!pli_upc_mpi_has_rank()) {
        fprintf(stderr,
                "MPI_Init: UPC thread %d has no MPI rank: only the first thread of its group "
                "has one; mpiexec --ranks-per-proc=N gives one to every thread\n",
                pli_upc_mythread);
        pli_upc_global_exit(1);
    }
    pthread_mutex_lock(&guard);
    if (!is_open) {
        rc = open_world();
        is_open = rc == MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS) {
        state = DURING;
        rc = MPI_Comm_dup(MPI_COMM_SELF, &self_comm); // one at a time: it is collective
    }
    pthread_mutex_unlock(&guard);
    return rc;
}

int pli_upc_mpi_init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc = pli_upc_mpi_init(argc, argv);
    if (provided != NULL) {
        *provided = MPI_THREAD_MULTIPLE;
    }
    (void)required;
    return rc;
}

// A program that never calls MPI_Init has MPI initialised by its first use of the world.
static void begin_by_use(void)
{
    if (state == BEFORE && pli_upc_mpi_has_rank()) {
        has_begun = pli_upc_mpi_init(NULL, NULL) == MPI_SUCCESS;
    }
}

MPI_Comm pli_upc_mpi_comm_world(void)
{
    begin_by_use();
    return world != NULL && state == DURING ? world[pli_upc_my_start()] : MPI_COMM_WORLD;
}

MPI_Comm pli_upc_mpi_comm_self(void)
{
    begin_by_use();
    return state == DURING ? self_comm : MPI_COMM_SELF;
}

// The process finalizes MPI when its last thread has ended.
int pli_upc_mpi_finalize(void)
{
    if (state != DURING) {
        return MPI_Finalize(); // reports the error
    }
    state = AFTER;
    MPI_Comm_free(&self_comm);
    return world != NULL ? MPI_Comm_free(&world[pli_upc_my_start()]) : MPI_SUCCESS;
}

void pli_upc_mpi_end(void)
{
    if (state == DURING && has_begun) {
        pli_upc_mpi_finalize();
    }
}

int pli_upc_mpi_initialized(int *flag)
{
    *flag = state != BEFORE;
    return MPI_SUCCESS;
}

int pli_upc_mpi_finalized(int *flag)
{
    *flag = state == AFTER;
    return MPI_SUCCESS;
}

void pli_upc_mpi_close(void)
{
    if (is_open) {
        MPI_Finalize();
    }
}

#endif
