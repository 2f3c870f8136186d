// SPDX-License-Identifier: BSD-3-Clause
// The one lock of the library, for programs of several threads.
#include "shim/shim.h"
#include "shim/shim_task.h"
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
    unsigned was = pli_shim_task_is_inside() ? 0 : depth; // who runs as a task keeps it
    if (was > 0) {
        depth = 0;
        pthread_mutex_unlock(&lock);
    }
    return was;
}

unsigned pli_shim_lock_swap(unsigned now)
{
    unsigned was = depth;
    depth = now;
    return was;
}

void pli_shim_lock_return(unsigned was)
{
    if (was > 0) {
        pthread_mutex_lock(&lock);
        depth = was;
    }
}
