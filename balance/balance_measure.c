// SPDX-License-Identifier: BSD-3-Clause
// Measures what endpoints cost: a thread works for the endpoint whose data it got last, and its
// processor time counts for that one. Threads are in a list, so that a rebalance can also count
// what those have done that do not call us any more.
#include "balance_priv.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct worker {
    struct worker *next, **link;
    struct pli_balance *b; // NULL: works for none
    struct pli_balance_ep *ep;
    clockid_t clock;
    double since;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;
static struct worker *workers;

static double now(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec * 1e-9 : 0;
}

// Count what was done up to now.
static void count(struct worker *w)
{
    double t = now(w->clock);
    if (w->b != NULL && t > w->since) {
        w->ep->measured += t - w->since;
    }
    w->since = t;
}

// A thread ends.
static void leave(void *arg)
{
    struct worker *w = arg;
    pthread_mutex_lock(&lock);
    count(w);
    *w->link = w->next;
    if (w->next != NULL) {
        w->next->link = w->link;
    }
    pthread_mutex_unlock(&lock);
    free(w);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, leave) == 0;
}

// The calling thread; NULL: there is no memory, so it is not measured.
static struct worker *self(void)
{
    pthread_once(&once, make_key);
    struct worker *w = has_key ? pthread_getspecific(key) : NULL;
    if (w == NULL && has_key && (w = calloc(1, sizeof *w)) != NULL) {
        if (pthread_getcpuclockid(pthread_self(), &w->clock) != 0 ||
            pthread_setspecific(key, w) != 0) {
            free(w);
            return NULL;
        }
        pthread_mutex_lock(&lock);
        w->next = workers;
        w->link = &workers;
        if (workers != NULL) {
            workers->link = &w->next;
        }
        workers = w;
        pthread_mutex_unlock(&lock);
    }
    return w;
}

void pli_balance_measure_begin(struct pli_balance *b, struct pli_balance_ep *ep)
{
    struct worker *w = b->is_measuring ? self() : NULL;
    if (w == NULL || (w->b == b && w->ep == ep)) { // it goes on; only this thread begins
        return;
    }
    pthread_mutex_lock(&lock);
    count(w);
    w->b = b;
    w->ep = ep;
    pthread_mutex_unlock(&lock);
}

void pli_balance_measure_end(struct pli_balance *b)
{
    pthread_mutex_lock(&lock);
    for (struct worker *w = workers; w != NULL; w = w->next) {
        if (w->b == b) {
            count(w);
            w->b = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
}
