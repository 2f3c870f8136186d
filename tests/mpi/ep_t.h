// SPDX-License-Identifier: BSD-3-Clause
// Endpoints driven by threads, one each.
#ifndef PLI_TESTS_MPI_EP_T_H
#define PLI_TESTS_MPI_EP_T_H

#include <mpi.h>
#include <pthread.h>

#include "t.h"

typedef void (*ep_fn)(MPI_Comm comm);

struct ep_thread {
    pthread_t id;
    MPI_Comm comm;
    ep_fn fn;
};

static void *ep_main(void *arg)
{
    struct ep_thread *t = arg;
    t->fn(t->comm);
    T_EQ(MPI_Comm_free(&t->comm), MPI_SUCCESS);
    T_OK(t->comm == MPI_COMM_NULL);
    return NULL;
}

// Each of n endpoints of this process over the parent runs fn in a thread of its own.
static inline void ep_run(MPI_Comm parent, int n, ep_fn fn)
{
    MPI_Comm *comms = malloc(((size_t)n + 1) * sizeof *comms);
    struct ep_thread *threads = malloc(((size_t)n + 1) * sizeof *threads);
    T_MUST(MPI_Comm_create_endpoints(parent, n, MPI_INFO_NULL, comms) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        threads[i] = (struct ep_thread){ .comm = comms[i], .fn = fn };
        T_MUST(pthread_create(&threads[i].id, NULL, ep_main, &threads[i]) == 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].id, NULL);
    }
    free(threads);
    free(comms);
}

#endif
