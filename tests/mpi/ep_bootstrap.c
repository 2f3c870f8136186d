// SPDX-License-Identifier: BSD-3-Clause
// The bootstrapping code that the paper on endpoints shows for a UPC compiler (its Listing 3), with
// its gaps filled in: the threads of a process each become a rank, and run the user's program of
// Listing 2, in which MPI_COMM_WORLD stands for the communicator of all threads.
#include "obj.h"

#include <pthread.h>

#define NUM_THREADS 3
#define TOL 1e-3
enum { MULTIPLE = MPI_THREAD_MULTIPLE };

static pthread_t threads[NUM_THREADS];
static int n_thread;
static _Thread_local MPI_Comm upc_world;
static _Atomic int n_round; // of all threads of this process

// The user's main function.
static int upc_main(int argc, char **argv)
{
    int rank, size, it = 0;
    double err = 1, all;
    (void)argc, (void)argv;
    do {
        err = 100.0 / (1 << it);
        T_MPI(MPI_Allreduce(&err, &all, 1, MPI_DOUBLE, MPI_SUM, upc_world));
        err = all;
        it++;
    } while (err > TOL);
    MPI_Comm_rank(upc_world, &rank);
    MPI_Comm_size(upc_world, &size);
    T_OK(rank >= 0 && rank < size);
    n_round += it;
    return it;
}

static void upc_thread_init(int argc, char **argv, MPI_Comm upc_comm_world)
{
    upc_world = upc_comm_world;
    MPI_Comm_attach(upc_comm_world);
    upc_main(argc, argv); // User's main function
    MPI_Comm_free(&upc_comm_world);
}

static void *run(void *comm)
{
    upc_thread_init(0, NULL, (MPI_Comm)comm);
    return NULL;
}

static void UPCR_Spawn(void (*init)(int, char **, MPI_Comm), MPI_Comm comm)
{
    T_OK(init == upc_thread_init);
    T_EQ(pthread_create(&threads[n_thread++], NULL, run, comm), 0);
}

int main(int argc, char **argv)
{
    int world_rank, size, tl, i, want = 0;
    MPI_Comm upc_comm_world[NUM_THREADS];

    MPI_Init_thread(&argc, &argv, MULTIPLE, &tl);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, NUM_THREADS, MPI_INFO_NULL, upc_comm_world);
    for (i = 0; i < NUM_THREADS; i++) {
        UPCR_Spawn(upc_thread_init, upc_comm_world[i]);
    }
    for (i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (double err = 1; err > TOL; want++) {
        err = 100.0 / (1 << want) * size * NUM_THREADS;
    }
    T_EQ(n_round, want * NUM_THREADS);
    MPI_Finalize();
    return t_status();
}
