// SPDX-License-Identifier: BSD-3-Clause
// Two threads of one process, an endpoint each: latency and bandwidth between them. What other
// benchmarks measure between two processes.
#include "bind.h"

#include <mpi.h>
#include <pthread.h>

static _Thread_local MPI_Comm pair; // of the two endpoints
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD pair

#include "pair.h"

struct thread {
    pthread_t id;
    MPI_Comm comm;
    int argc;
    char **argv;
};

static void latency(int me, long size, const char *params)
{
    struct pair_job j;
    pair_create(&j, size);
    pair_check(&j, me, pair_pingpong);
    double t = b_measure(me, pair_pingpong, &j, 0.02);
    if (me == 0) {
        b_report("ep_lat", params, t / 2 * 1e6, "us");
    }
    pair_destroy(&j);
}

static void measure(int me, const char *what, long size)
{
    char params[64];
    snprintf(params, sizeof params, "size=%ld threads=2", size);
    if (strcmp(what, "lat") == 0) {
        latency(me, size, params);
    } else {
        pair_bandwidth(me, "ep_bw", size, params);
    }
}

static void *run(void *arg)
{
    struct thread *t = arg;
    int me;
    pair = t->comm;
    MPI_Comm_rank(pair, &me);
    b_bind(me); // as the launchers bind each of two processes
    MPI_Comm_attach(pair);
    for (int i = 2; i < t->argc; i++) {
        measure(me, t->argv[1], atol(t->argv[i]));
    }
    MPI_Comm_detach(pair);
    MPI_Comm_free(&pair);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    MPI_Comm comms[2];
    struct thread threads[2];
    b_shield();
    b_cores(); // before there are threads that ask
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_create_endpoints(MPI_COMM_SELF, 2, MPI_INFO_NULL, comms);
    for (int i = 0; i < 2; i++) {
        threads[i] = (struct thread){ .comm = comms[i], .argc = argc, .argv = argv };
        pthread_create(&threads[i].id, NULL, run, &threads[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i].id, NULL);
    }
    MPI_Finalize();
    return 0;
}
