// SPDX-License-Identifier: BSD-3-Clause
// MPICH's generalized requests with a function that MPI calls to find out whether they are done.
#include "foreign_state.h"

#include <pthread.h>
#include <stdlib.h>

typedef int F_Grequest_poll_function(void *extra, F_Status *status);
typedef int F_Grequest_wait_function(int n, void **extra, double timeout, F_Status *status);

// Classes are numbers, and stay.
static struct pli_foreign_functions *classes;
static int n_class;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of both

int PMPIX_Grequest_start(F_Grequest_query_function *query_fn, F_Grequest_free_function *free_fn,
                         F_Grequest_cancel_function *cancel_fn, F_Grequest_poll_function *poll_fn,
                         F_Grequest_wait_function *wait_fn, void *extra_state, F_Request *request)
{
    struct pli_foreign_functions f = { .extra = extra_state,
                                       .query = query_fn,
                                       .free = free_fn,
                                       .cancel = cancel_fn,
                                       .poll = poll_fn,
                                       .wait = wait_fn };
    return pli_foreign_state_grequest_as(&f, request);
}

int PMPIX_Grequest_class_create(F_Grequest_query_function *query_fn,
                                F_Grequest_free_function *free_fn,
                                F_Grequest_cancel_function *cancel_fn,
                                F_Grequest_poll_function *poll_fn,
                                F_Grequest_wait_function *wait_fn, int *greq_class)
{
    if (greq_class == NULL) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    pthread_mutex_lock(&guard);
    struct pli_foreign_functions *more = realloc(classes, ((size_t)n_class + 1) * sizeof *more);
    if (more != NULL) {
        classes = more;
        classes[n_class] = (struct pli_foreign_functions){ .query = query_fn,
                                                           .free = free_fn,
                                                           .cancel = cancel_fn,
                                                           .poll = poll_fn,
                                                           .wait = wait_fn };
        *greq_class = n_class++;
    }
    pthread_mutex_unlock(&guard);
    return more != NULL ? 0 : pli_foreign_error_out(MPI_ERR_NO_MEM);
}

int PMPIX_Grequest_class_allocate(int greq_class, void *extra_state, F_Request *request)
{
    struct pli_foreign_functions f = { .extra = NULL };
    pthread_mutex_lock(&guard);
    bool is_known = greq_class >= 0 && greq_class < n_class;
    if (is_known) {
        f = classes[greq_class];
    }
    pthread_mutex_unlock(&guard);
    f.extra = extra_state;
    return is_known ? pli_foreign_state_grequest_as(&f, request)
                    : pli_foreign_error_out(MPI_ERR_ARG);
}

int MPIX_Grequest_start(F_Grequest_query_function *query_fn, F_Grequest_free_function *free_fn,
                        F_Grequest_cancel_function *cancel_fn, F_Grequest_poll_function *poll_fn,
                        F_Grequest_wait_function *wait_fn, void *extra_state, F_Request *request)
    __attribute__((weak, alias("PMPIX_Grequest_start")));
int MPIX_Grequest_class_create(F_Grequest_query_function *query_fn,
                               F_Grequest_free_function *free_fn,
                               F_Grequest_cancel_function *cancel_fn,
                               F_Grequest_poll_function *poll_fn, F_Grequest_wait_function *wait_fn,
                               int *greq_class)
    __attribute__((weak, alias("PMPIX_Grequest_class_create")));
int MPIX_Grequest_class_allocate(int greq_class, void *extra_state, F_Request *request)
    __attribute__((weak, alias("PMPIX_Grequest_class_allocate")));
