// SPDX-License-Identifier: BSD-3-Clause
// The list of copies that wait for their requests. It is short, and empty in nearly all programs.
#include "fortran/pending.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pending {
    struct pending *next;
    int request;
    bool changed;
    void *packed;
    struct pli_cdesc *d; // a copy: the program's is gone after the call
};

atomic_int pli_pending_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *first; // guarded by lock

// Take one copy of a request out of the list; NULL: there is none.
static struct pending *take(int request)
{
    pthread_mutex_lock(&lock);
    struct pending **at = &first, *found = NULL;
    while (*at != NULL && (*at)->request != request) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        found = *at;
        *at = found->next;
        atomic_fetch_sub_explicit(&pli_pending_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void finish(int request)
{
    struct pending *p;
    while ((p = take(request)) != NULL) { // a call may have copied two buffers
        pli_cdesc_unpack(p->d, p->packed, p->changed);
        free(p->d);
        free(p);
    }
}

int pli_pending_add(int request, const struct pli_cdesc *d, void *packed, bool changed)
{
    size_t bytes = sizeof *d + (size_t)d->rank * sizeof d->dim[0];
    struct pending *p = malloc(sizeof *p);
    struct pli_cdesc *copy = malloc(bytes);
    if (p == NULL || copy == NULL) {
        free(p);
        free(copy);
        return MPI_ERR_NO_MEM;
    }
    memcpy(copy, d, bytes);
    pthread_mutex_lock(&lock);
    *p = (struct pending){ first, request, changed, packed, copy };
    first = p;
    atomic_fetch_add_explicit(&pli_pending_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

int *pli_pending_copy(const int *requests, int n)
{
    int *saved = n > 0 ? malloc((size_t)n * sizeof *saved) : NULL;
    if (saved != NULL) {
        memcpy(saved, requests, (size_t)n * sizeof *saved);
    }
    return saved;
}

void pli_pending_complete(int *saved, const int *requests, int n)
{
    int null = PMPI_Request_toint(MPI_REQUEST_NULL);
    for (int i = 0; i < n; i++) {
        if (saved[i] != null && requests[i] == null) {
            finish(saved[i]);
        }
    }
    free(saved);
}
