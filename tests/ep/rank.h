// SPDX-License-Identifier: BSD-3-Clause
// Put in front of an MPI test program, this makes it a rank that is an endpoint: the program
// becomes a shared object that the runner loads once for each rank, so that its variables are its
// own, and what means the process in MPI means the endpoint.
#ifndef PLI_TESTS_EP_RANK_H
#define PLI_TESTS_EP_RANK_H

#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

// What the runner and the program tell each other.
struct ep_rank {
    MPI_Comm world, self; // from the runner
    void (*leave)(int status);
    void (*join)(struct ep_rank *rank); // the calling thread is one of the rank's from now on
    int level, status;
    int is_initialized, is_finalized;
    pthread_t main_thread;
};

#if !defined(PLI_TESTS_EP_RUNNER)

struct ep_rank ep_rank; // the runner looks it up by name

#define T_IS_ENDPOINT 1

#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD (ep_rank.world)
#define MPI_COMM_SELF (ep_rank.self)

static inline int ep_rank_init_thread(int required, int *provided)
{
    ep_rank.level = required;
    ep_rank.is_initialized = 1;
    ep_rank.main_thread = pthread_self();
    *provided = required;
    return MPI_SUCCESS;
}

static inline int ep_rank_init(void)
{
    int level;
    return ep_rank_init_thread(MPI_THREAD_SINGLE, &level);
}

// The attributes of MPI_COMM_SELF go first, while everything works.
static inline int ep_rank_finalize(void)
{
    int rc = MPI_Comm_free(&ep_rank.self);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Comm_free(&ep_rank.world);
    }
    ep_rank.is_finalized = rc == MPI_SUCCESS;
    return rc;
}

struct ep_start {
    void *(*fn)(void *arg);
    void *arg;
};

static inline void *ep_rank_thread(void *arg)
{
    struct ep_start start = *(struct ep_start *)arg;
    free(arg);
    ep_rank.join(&ep_rank);
    void *result = start.fn(start.arg);
    MPI_Comm_detach(ep_rank.world);
    return result;
}

static inline int ep_rank_thread_create(pthread_t *id, const pthread_attr_t *attr,
                                        void *(*fn)(void *arg), void *arg)
{
    struct ep_start *start = malloc(sizeof *start);
    *start = (struct ep_start){ fn, arg };
    return pthread_create(id, attr, ep_rank_thread, start);
}

static inline int ep_rank_flag(int is, int *flag)
{
    *flag = is;
    return MPI_SUCCESS;
}

#define MPI_Init(argc, argv) ((void)(argc), (void)(argv), ep_rank_init())
#define MPI_Init_thread(argc, argv, required, provided)                                            \
    ((void)(argc), (void)(argv), ep_rank_init_thread(required, provided))
#define MPI_Finalize() ep_rank_finalize()
#define MPI_Initialized(flag) ep_rank_flag(ep_rank.is_initialized, flag)
#define MPI_Finalized(flag) ep_rank_flag(ep_rank.is_finalized, flag)
#define MPI_Query_thread(level) ep_rank_flag(ep_rank.level, level)
#define MPI_Is_thread_main(flag)                                                                   \
    ep_rank_flag(pthread_equal(pthread_self(), ep_rank.main_thread) != 0, flag)
#define pthread_create(id, attr, fn, arg) ep_rank_thread_create(id, attr, fn, arg)
#define exit(status) ep_rank.leave(status)

#endif
#endif
