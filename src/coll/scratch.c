// SPDX-License-Identifier: BSD-3-Clause
// Keeps large blocks of scratch memory for the next schedule.
#include "coll/scratch.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    KEEP_MIN = 64 * 1024,        // smaller blocks stay with malloc by themselves
    KEEP_ALL = 16 * 1024 * 1024, // bytes that are kept at most
    MUCH = 4,                    // a kept block serves down to this part of its size
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_scratch *kept; // guarded by guard, as the next
static size_t n_kept;

// A kept block that fits, NULL: none.
static struct pli_scratch *reuse(size_t size)
{
    struct pli_scratch *found = NULL;
    pthread_mutex_lock(&guard);
    for (struct pli_scratch **at = &kept; *at != NULL && found == NULL;) {
        if ((*at)->size >= size && (*at)->size / MUCH <= size) {
            found = *at;
            *at = found->next;
            n_kept -= found->size;
        } else {
            at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&guard);
    return found;
}

struct pli_scratch *pli_scratch_take(size_t size)
{
    struct pli_scratch *s = size >= KEEP_MIN ? reuse(size) : NULL;
    if (s == NULL && size < SIZE_MAX / 2) {
        void *mem = NULL;
        if (posix_memalign(&mem, _Alignof(struct pli_scratch), sizeof *s + size) == 0) {
            s = mem;
            s->size = size;
        }
    }
    return s;
}

void pli_scratch_give(struct pli_scratch *s)
{
    if (s->size >= KEEP_MIN) {
        pthread_mutex_lock(&guard);
        if (s->size <= KEEP_ALL - n_kept) {
            n_kept += s->size;
            s->next = kept;
            kept = s;
            s = NULL;
        }
        pthread_mutex_unlock(&guard);
    }
    free(s);
}
