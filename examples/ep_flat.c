// SPDX-License-Identifier: BSD-3-Clause
// Runs an ordinary MPI program with a thread per rank, without changing a line of it. Its main
// becomes user_main, called by each thread; its MPI calls come by here, where MPI_COMM_WORLD is
// replaced with the endpoint of the calling thread. What a compiler of a threaded language, or a
// library between a program and MPI, would do.
//
//     mpicc -Dmain=user_main -c ep_flat_user.c
//     mpicc -o ep_flat ep_flat.c ep_flat_user.o
//     EP_FLAT_THREADS=3 mpiexec -n 2 ./ep_flat
//
// The library offers each function under two names; one defined here goes before MPI_X and calls
// PMPI_X. Only those the program uses are here. Global variables of the program would be shared by
// its ranks, so it must have none that it writes to.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int user_main(int argc, char **argv);

struct thread {
    pthread_t id;
    MPI_Comm world; // what MPI_COMM_WORLD means to it
    int argc;
    char **argv;
    int status;
};

// Ours, not the library's: the program names no endpoint, so the thread must.
static _Thread_local MPI_Comm my_world;

static MPI_Comm translate(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? my_world : comm;
}

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    my_world = t->world;
    PMPI_Comm_attach(t->world);
    t->status = user_main(t->argc, t->argv);
    PMPI_Comm_detach(t->world);
    PMPI_Comm_free(&t->world);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    const char *text = getenv("EP_FLAT_THREADS");
    int n = text != NULL ? atoi(text) : 2;
    PMPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE || n < 1) {
        fprintf(stderr, "ep_flat: EP_FLAT_THREADS must be a number above 0\n");
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm *worlds = malloc((size_t)n * sizeof *worlds);
    struct thread *threads = malloc((size_t)n * sizeof *threads);
    PMPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, worlds);
    for (int i = 0; i < n; i++) {
        threads[i] = (struct thread){ .world = worlds[i], .argc = argc, .argv = argv };
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]) != 0) {
            fprintf(stderr, "ep_flat: cannot start thread %d\n", i);
            PMPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    int status = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].id, NULL);
        status |= threads[i].status;
    }
    free(threads);
    free(worlds);
    PMPI_Finalize();
    return status;
}

// The process began before the program and ends after it.
int MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    return PMPI_Barrier(my_world);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(translate(comm), rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    return PMPI_Comm_size(translate(comm), size);
}

int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype type_out, int dest, int tag_out, void *in,
                 int n_in, MPI_Datatype type_in, int source, int tag_in, MPI_Comm comm,
                 MPI_Status *status)
{
    return PMPI_Sendrecv(out, n_out, type_out, dest, tag_out, in, n_in, type_in, source, tag_in,
                         translate(comm), status);
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Allreduce(in, out, n, type, op, translate(comm));
}
