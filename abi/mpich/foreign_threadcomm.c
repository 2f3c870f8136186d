// SPDX-License-Identifier: BSD-3-Clause
// MPICH's communicators whose ranks are threads. Such a one is a communicator of endpoints: its
// number is the same in all threads of a process, and means in each the endpoint that the thread
// took when it started.
#include "foreign_calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct threadcomm {
    int n;          // threads of this process, and endpoints
    MPI_Comm *each; // endpoints
    _Atomic int n_taken;
    pthread_barrier_t all; // the threads of this process, at start and finish
};

// Numbers look like those of predefined communicators that there are not.
enum { FIRST = 0x44010000, N_MAX = 1024, N_ACTIVE = 16 };

static struct threadcomm *_Atomic table[N_MAX];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of who writes in it

// Those in which the calling thread is a rank.
static _Thread_local struct {
    uint32_t number; // 0: none
    MPI_Comm mine;
} active[N_ACTIVE];

static struct threadcomm *find(F_Comm comm)
{
    uint32_t at = (uint32_t)comm - FIRST;
    return at < N_MAX ? atomic_load_explicit(&table[at], memory_order_acquire) : NULL;
}

// Where the thread has noted a number; with 0 a place that is free. N_ACTIVE: nowhere.
static int place_of(uint32_t number)
{
    int i = 0;
    while (i < N_ACTIVE && active[i].number != number) {
        i++;
    }
    return i;
}

void *pli_foreign_threadcomm_in(uint32_t h)
{
    int i = h - FIRST < N_MAX ? place_of(h) : N_ACTIVE;
    return i < N_ACTIVE ? active[i].mine : NULL;
}

static void destroy(struct threadcomm *t)
{
    for (int i = 0; t->each != NULL && i < t->n; i++) {
        if (t->each[i] != MPI_COMM_NULL) {
            pli_std_MPI_Comm_free(&t->each[i]);
        }
    }
    free(t->each);
    free(t);
}

static int enter(struct threadcomm *t)
{
    int at = 0;
    pthread_mutex_lock(&guard);
    while (at < N_MAX && atomic_load(&table[at]) != NULL) {
        at++;
    }
    if (at < N_MAX) {
        atomic_store(&table[at], t);
    }
    pthread_mutex_unlock(&guard);
    return at;
}

// Collective over comm.
int PMPIX_Threadcomm_init(F_Comm comm, int num_threads, F_Comm *newthreadcomm)
{
    if (num_threads <= 0 || newthreadcomm == NULL) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    struct threadcomm *t = calloc(1, sizeof *t);
    MPI_Comm *each = calloc((size_t)num_threads, sizeof *each);
    if (t == NULL || each == NULL || pthread_barrier_init(&t->all, NULL, (unsigned)num_threads)) {
        free(each);
        free(t);
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Comm_create_endpoints(pli_foreign_comm_in(comm), num_threads,
                                                MPI_INFO_NULL, each);
    if (err != 0) {
        free(each);
        free(t);
        return pli_foreign_error_out(err);
    }
    t->n = num_threads;
    t->each = each;
    int at = enter(t);
    if (at == N_MAX) {
        destroy(t);
        return pli_foreign_error_out(MPI_ERR_OTHER);
    }
    *newthreadcomm = FIRST + at;
    return 0;
}

// Of each thread that takes part.
int PMPIX_Threadcomm_start(F_Comm threadcomm)
{
    struct threadcomm *t = find(threadcomm);
    int place = place_of(0);
    if (t == NULL || place_of((uint32_t)threadcomm) != N_ACTIVE || place == N_ACTIVE) {
        return pli_foreign_error_out(MPI_ERR_COMM);
    }
    int mine = atomic_fetch_add(&t->n_taken, 1);
    if (mine >= t->n) { // more threads than were announced
        return pli_foreign_error_out(MPI_ERR_COMM);
    }
    active[place].number = (uint32_t)threadcomm;
    active[place].mine = t->each[mine];
    pli_std_MPI_Comm_attach(t->each[mine]);
    pthread_barrier_wait(&t->all);
    return 0;
}

// No thread begins again before all have ended, so the places can be given out anew.
int PMPIX_Threadcomm_finish(F_Comm threadcomm)
{
    struct threadcomm *t = find(threadcomm);
    int place = place_of((uint32_t)threadcomm);
    if (t == NULL || place == N_ACTIVE) {
        return pli_foreign_error_out(MPI_ERR_COMM);
    }
    pli_std_MPI_Comm_detach(active[place].mine);
    active[place].number = 0;
    pthread_barrier_wait(&t->all);
    atomic_store(&t->n_taken, 0);
    pthread_barrier_wait(&t->all);
    return 0;
}

int PMPIX_Threadcomm_free(F_Comm *threadcomm)
{
    struct threadcomm *t = threadcomm != NULL ? find(*threadcomm) : NULL;
    if (t == NULL || atomic_load(&t->n_taken) != 0) {
        return pli_foreign_error_out(MPI_ERR_COMM);
    }
    atomic_store(&table[(uint32_t)*threadcomm - FIRST], NULL);
    pthread_barrier_destroy(&t->all);
    destroy(t);
    *threadcomm = pli_foreign_comm_out(MPI_COMM_NULL);
    return 0;
}

int PMPIX_Comm_test_threadcomm(F_Comm comm, int *flag)
{
    if (flag == NULL) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    *flag = find(comm) != NULL;
    return 0;
}

int MPIX_Threadcomm_init(F_Comm comm, int num_threads, F_Comm *newthreadcomm)
    __attribute__((weak, alias("PMPIX_Threadcomm_init")));
int MPIX_Threadcomm_start(F_Comm threadcomm) __attribute__((weak, alias("PMPIX_Threadcomm_start")));
int MPIX_Threadcomm_finish(F_Comm threadcomm)
    __attribute__((weak, alias("PMPIX_Threadcomm_finish")));
int MPIX_Threadcomm_free(F_Comm *threadcomm) __attribute__((weak, alias("PMPIX_Threadcomm_free")));
int MPIX_Comm_test_threadcomm(F_Comm comm, int *flag)
    __attribute__((weak, alias("PMPIX_Comm_test_threadcomm")));
