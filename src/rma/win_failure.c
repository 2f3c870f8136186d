// SPDX-License-Identifier: BSD-3-Clause
// The list of this process's windows, all of which are told of a failure.
#include "rma/win_failure.h"

#include "ft/failure.h"
#include "obj/comm.h"
#include "rma/win.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list all = { &all, &all }; // guarded by lock

static void tell_all(void)
{
    pthread_mutex_lock(&lock);
    for (struct pli_list *at = all.next; at != &all; at = at->next) {
        struct pli_win_failure_listener *d =
            PLI_CONTAINER(at, struct pli_win_failure_listener, link);
        d->on_failure(d);
    }
    pthread_mutex_unlock(&lock);
}

void pli_win_failure_listen(struct pli_win_failure_listener *d)
{
    pthread_mutex_lock(&lock);
    pli_list_push(&all, &d->link);
    pli_failure_on_news(tell_all);
    if (pli_failure_is_due()) { // it may have come just before
        d->on_failure(d);
    }
    pthread_mutex_unlock(&lock);
}

void pli_win_failure_stop(struct pli_win_failure_listener *d)
{
    pthread_mutex_lock(&lock);
    pli_list_remove(&d->link);
    pthread_mutex_unlock(&lock);
}

bool pli_win_failure_has(const struct pli_win *w, int rank)
{
    return pli_failure_failed_at(pli_group_at(w->comm->group, rank).proc) != 0;
}
