// SPDX-License-Identifier: BSD-3-Clause
// The one lock of the library, for programs of several threads.
#include "shim/shim.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread unsigned depth; // how often this thread has entered

unsigned pli_shim_lock_take(void)
{
    if (pli_shim.has_threads && depth++ == 0) {
        pthread_mutex_lock(&lock);
    }
    return depth;
}

void pli_shim_lock_drop(unsigned *mark)
{
    (void)mark;
    if (pli_shim.has_threads && --depth == 0) {
        pthread_mutex_unlock(&lock);
    }
}

unsigned pli_shim_lock_leave(void)
{
    unsigned was = depth;
    if (was > 0) {
        depth = 0;
        pthread_mutex_unlock(&lock);
    }
    return was;
}

void pli_shim_lock_return(unsigned was)
{
    if (was > 0) {
        pthread_mutex_lock(&lock);
        depth = was;
    }
}
