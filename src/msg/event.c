// SPDX-License-Identifier: BSD-3-Clause
// A queue of events that waits for a thread which may call functions of the program: a task of the
// lane where the event was noted.
#include "msg/event.h"

#include "base/clock.h"
#include "msg/lane.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { N_QUEUE = 4096 };

_Atomic uint32_t pli_event_wanted;
static const struct pli_event_sink *_Atomic sink;
static struct pli_event queue[N_QUEUE]; // guarded by guard, as what follows
static uint32_t n_put, n_taken;
static uint64_t n_dropped[PLI_EVENT_N];
static bool is_deferred; // the task is in the list of a lane
static bool is_draining; // a thread hands events over
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void run(struct pli_task *t)
{
    (void)t;
    pthread_mutex_lock(&guard);
    is_deferred = false;
    pthread_mutex_unlock(&guard);
    pli_event_drain();
}

static struct pli_task task = { .run = run, .is_users = true };

void pli_event_open(const struct pli_event_sink *to)
{
    const struct pli_event_sink *none = NULL;
    atomic_compare_exchange_strong(&sink, &none, to);
}

static void put(enum pli_event_type type, const int64_t word[PLI_EVENT_N_WORD])
{
    if (n_put - n_taken == N_QUEUE) {
        n_dropped[type]++;
        return;
    }
    struct pli_event *e = &queue[n_put++ % N_QUEUE];
    e->time_ns = pli_clock_ns();
    e->type = type;
    memcpy(e->word, word, sizeof e->word);
}

void pli_event_raise(struct pli_lane *lane, enum pli_event_type type,
                     const int64_t word[PLI_EVENT_N_WORD])
{
    pthread_mutex_lock(&guard);
    put(type, word);
    bool must_defer = !is_deferred;
    is_deferred = true;
    pthread_mutex_unlock(&guard);
    if (!must_defer) {
        return;
    }
    struct pli_lane *at = lane != NULL ? lane : atomic_load(&pli_proc.lanes[0]);
    if (lane == NULL) {
        pli_lock_take(&at->lock);
    }
    pli_lane_defer(at, &task);
    if (lane == NULL) {
        pli_lock_drop(&at->lock);
    }
}

// The next one, or a type of which some were dropped. False: there is nothing. Context: guard held.
static bool next(struct pli_event *e, uint64_t *dropped)
{
    for (int t = 0; t < PLI_EVENT_N; t++) {
        if (n_dropped[t] != 0) {
            *e = (struct pli_event){ .type = (enum pli_event_type)t };
            *dropped = n_dropped[t];
            n_dropped[t] = 0;
            return true;
        }
    }
    *dropped = 0;
    if (n_taken == n_put) {
        return false;
    }
    *e = queue[n_taken++ % N_QUEUE];
    return true;
}

void pli_event_drain(void)
{
    struct pli_event e;
    uint64_t dropped;
    pthread_mutex_lock(&guard);
    if (is_draining) { // by another thread, or by this one below a function of the program
        pthread_mutex_unlock(&guard);
        return;
    }
    is_draining = true;
    while (next(&e, &dropped)) {
        pthread_mutex_unlock(&guard);
        const struct pli_event_sink *to = atomic_load(&sink);
        if (dropped != 0) {
            to->dropped(e.type, dropped);
        } else {
            to->take(&e);
        }
        pthread_mutex_lock(&guard);
    }
    is_draining = false;
    pthread_mutex_unlock(&guard);
}
