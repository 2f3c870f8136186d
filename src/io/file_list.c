// SPDX-License-Identifier: BSD-3-Clause
// Lists the open files, and lets checkpoints have the mappings that are kept of them unmapped.
#include "io/file_list.h"

#include "ckpt/freeze.h"
#include "io/file.h"
#include "io/file_map.h"

#include <pthread.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list all = { &all, &all };

void pli_file_list_each(void (*fn)(struct pli_file *f, void *arg), void *arg)
{
    for (struct pli_list *at = all.next, *next; at != &all; at = next) {
        next = at->next;
        fn(PLI_CONTAINER(at, struct pli_file, all), arg);
    }
}

static void drop_one(struct pli_file *f, void *arg)
{
    (void)arg;
    pli_file_map_drop(f);
}

// Context: pli_freeze_on_drop. Where a thread was stopped while it changed the list, mappings stay.
static void drop_maps(void)
{
    if (pthread_mutex_trylock(&guard) == 0) {
        pli_file_list_each(drop_one, NULL);
        pthread_mutex_unlock(&guard);
    }
}

void pli_file_list_add(struct pli_file *f)
{
    pli_freeze_on_drop(drop_maps);
    pthread_mutex_lock(&guard);
    pli_list_push(&all, &f->all);
    pthread_mutex_unlock(&guard);
}

void pli_file_list_remove(struct pli_file *f)
{
    pthread_mutex_lock(&guard);
    pli_list_remove(&f->all);
    pthread_mutex_unlock(&guard);
}
