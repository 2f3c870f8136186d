// SPDX-License-Identifier: BSD-3-Clause
// The list of copies that wait for their requests. It is short, and empty in nearly all programs.
#include "fortran/pending.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pli_pending {
    struct pli_pending *next;
    int request;
    bool changed;       // by the call: put back
    bool is_persistent; // stays until the request is freed
    bool is_started;
    void *packed;
    struct pli_cdesc *d; // a copy: the program's is gone after the call
};

atomic_int pli_pending_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pli_pending *first; // guarded by lock

// Take one copy of a request out of the list; NULL: there is none.
static struct pli_pending *take(int request)
{
    pthread_mutex_lock(&lock);
    struct pli_pending **at = &first, *found = NULL;
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
    struct pli_pending *p;
    while ((p = take(request)) != NULL) { // a call may have copied two buffers
        pli_cdesc_unpack(p->d, p->packed, p->changed && p->is_started);
        pli_pending_destroy(p);
    }
}

struct pli_pending *pli_pending_prepare(const struct pli_cdesc *d)
{
    size_t bytes = sizeof *d + (size_t)d->rank * sizeof d->dim[0];
    struct pli_pending *p = calloc(1, sizeof *p);
    struct pli_cdesc *copy = malloc(bytes);
    if (p == NULL || copy == NULL) {
        free(p);
        free(copy);
        return NULL;
    }
    memcpy(copy, d, bytes);
    p->d = copy;
    return p;
}

void pli_pending_destroy(struct pli_pending *p)
{
    if (p != NULL) {
        free(p->d);
        free(p);
    }
}

void pli_pending_add(struct pli_pending *p, int request, void *packed, bool changed,
                     bool is_persistent)
{
    pthread_mutex_lock(&lock);
    p->next = first;
    p->request = request;
    p->packed = packed;
    p->changed = changed;
    p->is_persistent = is_persistent;
    p->is_started = !is_persistent;
    first = p;
    atomic_fetch_add_explicit(&pli_pending_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

void pli_pending_renew(const int *requests, int n)
{
    pthread_mutex_lock(&lock);
    for (struct pli_pending *p = first; p != NULL; p = p->next) {
        for (int i = 0; i < n; i++) {
            if (p->is_persistent && p->request == requests[i]) {
                pli_cdesc_gather(p->d, p->packed);
                p->is_started = true;
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

static bool is_persistent_of(const struct pli_pending *p, int request)
{
    return p->is_persistent && p->is_started && p->request == request;
}

// A persistent request stays: it is complete when it is not active any more. MPI is asked without
// the lock, for it may call procedures of the program.
static void put_back(int request)
{
    bool is_found = false;
    int is_done = 0;
    pthread_mutex_lock(&lock);
    for (struct pli_pending *p = first; p != NULL; p = p->next) {
        is_found = is_found || is_persistent_of(p, request);
    }
    pthread_mutex_unlock(&lock);
    if (!is_found || PMPI_Request_get_status(PMPI_Request_fromint(request), &is_done,
                                             MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (struct pli_pending *p = first; is_done && p != NULL; p = p->next) {
        if (is_persistent_of(p, request)) {
            if (p->changed) {
                pli_cdesc_scatter(p->d, p->packed);
            }
            p->is_started = false;
        }
    }
    pthread_mutex_unlock(&lock);
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
        } else if (saved[i] != null) {
            put_back(saved[i]);
        }
    }
    free(saved);
}
