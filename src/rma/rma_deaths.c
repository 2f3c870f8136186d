// SPDX-License-Identifier: BSD-3-Clause
#include "rma/rma_deaths.h"

#include "ft/failure.h"
#include "obj/comm.h"
#include "rma/win.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list all = { &all, &all }; // guarded by lock

static void hear(void)
{
    pthread_mutex_lock(&lock);
    for (struct pli_list *at = all.next; at != &all; at = at->next) {
        struct pli_rma_deaths *d = PLI_CONTAINER(at, struct pli_rma_deaths, link);
        d->hear(d);
    }
    pthread_mutex_unlock(&lock);
}

void pli_rma_deaths_listen(struct pli_rma_deaths *d)
{
    pthread_mutex_lock(&lock);
    pli_list_push(&all, &d->link);
    pli_failure_on_news(hear);
    if (pli_failure_is_due()) { // it may have come just before
        d->hear(d);
    }
    pthread_mutex_unlock(&lock);
}

void pli_rma_deaths_stop(struct pli_rma_deaths *d)
{
    pthread_mutex_lock(&lock);
    pli_list_remove(&d->link);
    pthread_mutex_unlock(&lock);
}

bool pli_rma_deaths_has(const struct pli_win *w, int rank)
{
    return pli_failure_failed_at(pli_group_at(w->comm->group, rank).proc) != 0;
}
