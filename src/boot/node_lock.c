// SPDX-License-Identifier: BSD-3-Clause
// A robust mutex that processes share: when its owner dies the kernel marks it. All processes of a
// job on one host, and of jobs that they are connected with, are of one version of this library.
#include "boot/node_lock.h"

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(pthread_mutex_t) <= PLI_NODE_LOCK_SIZE, "shared with other processes");
_Static_assert(_Alignof(pthread_mutex_t) <= 8, "shared with other processes");

void pli_node_lock_init(void *owner)
{
    pthread_mutexattr_t a;
    int error = pthread_mutexattr_init(&a);
    error = error != 0 ? error : pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    error = error != 0 ? error : pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    error = error != 0 ? error : pthread_mutex_init(owner, &a);
    if (error != 0) {
        pli_log(PLI_ERROR, "this system has no locks that outlive a process: %s", strerror(error));
        abort();
    }
    pthread_mutexattr_destroy(&a);
}

static void check(void *owner, int error)
{
    if (error == EOWNERDEAD) {
        error = pthread_mutex_consistent(owner);
    }
    if (error != 0) {
        pli_log(PLI_ERROR, "a table of the job cannot be locked: %s", strerror(error));
        abort();
    }
}

void pli_node_lock_take(void *owner)
{
    check(owner, pthread_mutex_lock(owner));
}

bool pli_node_lock_try(void *owner)
{
    int error = pthread_mutex_trylock(owner);
    if (error == EBUSY) {
        return false;
    }
    check(owner, error);
    return true;
}

void pli_node_lock_drop(void *owner)
{
    pthread_mutex_unlock(owner);
}
