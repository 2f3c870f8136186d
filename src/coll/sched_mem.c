// SPDX-License-Identifier: BSD-3-Clause
// Allocates memory for the steps of schedules.
// Pieces are cut from a chunk one after the other. A chunk goes with its last piece.
#include "coll/sched_mem.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { CHUNK = 256 * 1024, LARGE = CHUNK / 4 };

// At the start of every chunk, which begins at a multiple of CHUNK.
struct chunk {
    size_t len;  // all of it
    size_t used; // from the start
    size_t n;    // pieces that were not given back
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *current; // pieces are cut from this one; guarded by guard, as the rest
static size_t n_mapped;

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

// A mapping that begins at a multiple of CHUNK.
static struct chunk *map(size_t len)
{
    char *p = mmap(NULL, len + CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    char *at = (char *)up((uintptr_t)p, CHUNK);
    if (at > p) {
        munmap(p, (size_t)(at - p));
    }
    munmap(at + len, (size_t)(p + CHUNK - at));
    struct chunk *c = (struct chunk *)at;
    *c = (struct chunk){ .len = len, .used = sizeof *c };
    n_mapped += len;
    return c;
}

static void unmap(struct chunk *c)
{
    n_mapped -= c->len;
    munmap(c, c->len);
}

// Context: guard held.
static void *cut(struct chunk *c, size_t size, size_t align)
{
    size_t at = up(c->used, align);
    c->used = at + size;
    c->n++;
    return (char *)c + at;
}

void *pli_sched_mem_take(size_t size, size_t align)
{
    void *p = NULL;
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    pthread_mutex_lock(&guard);
    if (size > LARGE) { // alone
        struct chunk *c = map(up(sizeof(struct chunk) + align + size, CHUNK));
        p = c != NULL ? cut(c, size, align) : NULL;
    } else {
        if (current == NULL || up(current->used, align) + size > CHUNK) {
            struct chunk *old = current;
            current = map(CHUNK);
            if (old != NULL && old->n == 0) {
                unmap(old);
            }
        }
        p = current != NULL ? cut(current, size, align) : NULL;
    }
    pthread_mutex_unlock(&guard);
    return p;
}

void pli_sched_mem_give(void *p)
{
    if (p == NULL) {
        return;
    }
    struct chunk *c = (struct chunk *)((uintptr_t)p & ~(uintptr_t)(CHUNK - 1));
    pthread_mutex_lock(&guard);
    if (--c->n == 0) {
        if (c == current) {
            c->used = sizeof *c; // it stays, for the next
        } else {
            unmap(c);
        }
    }
    pthread_mutex_unlock(&guard);
}

size_t pli_sched_mem_mapped(void)
{
    pthread_mutex_lock(&guard);
    size_t n = n_mapped;
    pthread_mutex_unlock(&guard);
    return n;
}
