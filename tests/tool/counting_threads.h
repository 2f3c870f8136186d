// SPDX-License-Identifier: BSD-3-Clause
// Threads that count, each in its own thread-local memory, hold a mutex of two kinds now and then,
// have names, and are joined: whoever copies or restores them must get all of that right.
#ifndef PLI_COUNTING_THREADS_H
#define PLI_COUNTING_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N_COUNTING = 3 };

static _Thread_local long own_count;
static pthread_mutex_t counting_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t counting[N_COUNTING];
static struct {
    long count;
    int n_bad;
} counted[N_COUNTING]; // each its own, guarded by the mutex
static int is_counted;

static void *count(void *arg)
{
    char name[16], want[16];
    int i = (int)(long)arg, is_over = 0;
    snprintf(want, sizeof want, "count %d", i);
    pthread_setname_np(pthread_self(), want);
    while (!is_over) {
        pthread_mutex_lock(&counting_mutex);
        pthread_getname_np(pthread_self(), name, sizeof name);
        counted[i].n_bad += counted[i].count != own_count || strcmp(name, want) != 0 ||
                            pthread_equal(pthread_self(), counting[i]) == 0;
        counted[i].count = ++own_count;
        is_over = is_counted;
        pthread_mutex_unlock(&counting_mutex);
        usleep(100);
    }
    return &counted[i];
}

static void start_counting(void)
{
    pthread_mutex_lock(&counting_mutex); // until all are known
    for (long i = 0; i < N_COUNTING; i++) {
        if (pthread_create(&counting[i], NULL, count, (void *)i) != 0) {
            counted[i].n_bad = 1;
        }
    }
    pthread_mutex_unlock(&counting_mutex);
}

// Whether each has gone on, and ends as it should.
static int end_counting(void)
{
    long before[N_COUNTING];
    int is_good = 1;
    pthread_mutex_lock(&counting_mutex);
    for (int i = 0; i < N_COUNTING; i++) {
        before[i] = counted[i].count;
    }
    is_counted = 1;
    pthread_mutex_unlock(&counting_mutex);
    for (int i = 0; i < N_COUNTING; i++) {
        void *result = NULL;
        is_good = pthread_join(counting[i], &result) == 0 && result == &counted[i] &&
                  counted[i].count > before[i] && counted[i].n_bad == 0 && is_good;
    }
    return is_good;
}

#endif
