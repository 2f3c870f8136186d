// SPDX-License-Identifier: BSD-3-Clause
// Handles that C writes when a request is complete.
#include "fortran/later.h"

#include "fortran/argument.h"

#include <pthread.h>
#include <stdlib.h>

struct expected {
    MPI_Comm comm; // first: C gets the address; 0 until it is written
    int *fortran;
    struct expected *next;
};

atomic_int pli_later_count;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct expected *all; // guarded by guard

MPI_Comm *pli_later_comm(int *fortran)
{
    struct expected *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return NULL;
    }
    e->fortran = fortran;
    pthread_mutex_lock(&guard);
    e->next = all;
    all = e;
    atomic_fetch_add(&pli_later_count, 1);
    pthread_mutex_unlock(&guard);
    return &e->comm;
}

// Takes out those that are written, or the one at `place`.
static void remove_those(const MPI_Comm *place)
{
    pthread_mutex_lock(&guard);
    for (struct expected **at = &all; *at != NULL;) {
        struct expected *e = *at;
        if (place != NULL ? &e->comm != place : e->comm == (MPI_Comm)0) {
            at = &e->next;
            continue;
        }
        if (place == NULL) {
            *e->fortran = pli_argument_from_comm(e->comm);
        }
        *at = e->next;
        free(e);
        atomic_fetch_sub(&pli_later_count, 1);
    }
    pthread_mutex_unlock(&guard);
}

void pli_later_forget(MPI_Comm *place)
{
    remove_those(place);
}

void pli_later_collect(void)
{
    remove_those(NULL);
}
