// SPDX-License-Identifier: BSD-3-Clause
// Shares out stretches of memory that the system is asked to back by huge pages. Pages that no
// block touches cost nothing, and those of free blocks go back to the system, but for the first few
// of the first stretch: a program that takes and gives in a loop would clear them each time.
#include "base/huge_pool.h"

#include "base/extent_alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 1 << 21, STRETCH = 1 << 25, KEEP = 2 * PAGE };

struct stretch {
    struct stretch *next;
    char *at;
    struct pli_extent_alloc blocks;
};

static struct {
    pthread_mutex_t guard;
    struct stretch *first;
} pool = { .guard = PTHREAD_MUTEX_INITIALIZER };

// A stretch that begins with a huge page.
static char *map_stretch(void)
{
    char *p = mmap(NULL, STRETCH + PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    size_t before = (size_t)(-(uintptr_t)p % PAGE);
    if (before > 0) {
        munmap(p, before);
    }
    munmap(p + before + STRETCH, PAGE - before);
    if (madvise(p + before, STRETCH, MADV_HUGEPAGE) != 0) {
        errno = 0; // a kernel without huge pages gives ordinary ones
    }
    return p + before;
}

// Context: guard held.
static struct stretch *add_stretch(void)
{
    struct stretch *s = calloc(1, sizeof *s);
    char *at = s != NULL ? map_stretch() : NULL;
    if (at == NULL) {
        free(s);
        return NULL;
    }
    *s = (struct stretch){ .at = at, .blocks.size = STRETCH };
    struct stretch **last = &pool.first;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = s;
    return s;
}

void *pli_huge_pool_take(size_t size)
{
    size_t at = 0;
    size = (size + PLI_HUGE_POOL_ALIGN - 1) / PLI_HUGE_POOL_ALIGN * PLI_HUGE_POOL_ALIGN;
    pthread_mutex_lock(&pool.guard);
    struct stretch *s = pool.first;
    while (s != NULL && !pli_extent_alloc_take(&s->blocks, size, &at)) {
        s = s->next;
    }
    if (s == NULL) {
        s = add_stretch();
        s = s != NULL && pli_extent_alloc_take(&s->blocks, size, &at) ? s : NULL;
    }
    pthread_mutex_unlock(&pool.guard);
    return s != NULL ? s->at + at : NULL;
}

// Whole huge pages of what is free around a place go back.
// Context: guard held.
static void give_pages(const struct stretch *s, size_t at)
{
    size_t begin, end;
    if (pli_extent_alloc_is_free(&s->blocks, at, &begin, &end)) {
        begin = s == pool.first && begin < KEEP ? KEEP : (begin + PAGE - 1) / PAGE * PAGE;
        end = end / PAGE * PAGE;
        if (begin < end) {
            madvise(s->at + begin, end - begin, MADV_DONTNEED);
        }
    }
}

bool pli_huge_pool_give(void *p)
{
    bool is_there = false;
    pthread_mutex_lock(&pool.guard);
    for (struct stretch **from = &pool.first; *from != NULL && !is_there; from = &(*from)->next) {
        struct stretch *s = *from;
        size_t at = (size_t)((char *)p - s->at);
        is_there = at < STRETCH && pli_extent_alloc_give(&s->blocks, at) > 0;
        if (is_there && s->blocks.n_used == 0 && s != pool.first) {
            *from = s->next;
            munmap(s->at, STRETCH);
            pli_extent_alloc_clear(&s->blocks);
            free(s);
            break;
        }
        if (is_there) {
            give_pages(s, at);
        }
    }
    pthread_mutex_unlock(&pool.guard);
    return is_there;
}
