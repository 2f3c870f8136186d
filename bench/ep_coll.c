// SPDX-License-Identifier: BSD-3-Clause
// Time of an allreduce over all endpoints of all processes, a thread each; or over the processes
// themselves, on the same cores. Arguments: endpoints per process or 0, then sizes in bytes.
#include "bind.h"

#include <mpi.h>
#include <pthread.h>

static MPI_Comm world(void)
{
    return MPI_COMM_WORLD;
}

static _Thread_local MPI_Comm endpoint; // what the shared code takes for the world
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD endpoint

#include "coll.h"

struct thread {
    pthread_t id;
    MPI_Comm comm;
    int argc, n_ep;
    char **argv;
};

static _Thread_local double *in, *out;

static void allreduce(int size)
{
    MPI_Allreduce(in, out, size / 8, MPI_DOUBLE, MPI_SUM, endpoint);
}

static void *run(void *arg)
{
    struct thread *t = arg;
    int me, n;
    endpoint = t->comm;
    MPI_Comm_rank(endpoint, &me);
    MPI_Comm_size(endpoint, &n);
    b_bind_block(me, n);
    for (int i = 2; i < t->argc; i++) {
        int size = atoi(t->argv[i]);
        in = b_alloc((size_t)size);
        out = b_alloc((size_t)size);
        for (int k = 0; k < size / 8; k++) {
            in[k] = me + 1;
        }
        double s = c_measure(allreduce, size);
        if (out[size / 8 - 1] != n * (n + 1) / 2.0) {
            b_die("the sum is wrong");
        }
        if (me == 0) {
            char params[64];
            int n_ep = t->n_ep > 0 ? t->n_ep : 1;
            snprintf(params, sizeof params, "size=%d ranks=%d threads=%d", size, n / n_ep, n_ep);
            b_report("ep_allreduce", params, s * 1e6, "us");
        }
        free(in);
        free(out);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MAX = 16 };
    struct thread threads[MAX];
    MPI_Comm comms[MAX];
    int level, n = argc > 1 ? atoi(argv[1]) : -1;
    b_shield();
    b_cores(); // before there are threads that ask
    MPI_Init_thread(&argc, &argv, n > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    endpoint = world();
    if (n < 0 || n > MAX) {
        b_die("the first argument is the number of endpoints per process");
    }
    if (n == 0) {
        run(&(struct thread){ .comm = world(), .argc = argc, .argv = argv });
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_create_endpoints(endpoint, n, MPI_INFO_NULL, comms);
    for (int i = 0; i < n; i++) {
        threads[i] = (struct thread){ .comm = comms[i], .argc = argc, .argv = argv, .n_ep = n };
        if (pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0) {
            b_die("cannot start a thread");
        }
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].id, NULL);
    }
    for (int i = 0; i < n; i++) {
        MPI_Comm_free(&comms[i]);
    }
    MPI_Finalize();
    return 0;
}
