// SPDX-License-Identifier: BSD-3-Clause
// Takes and gives back memory of the arena with an allocator whose list is private to the process.
#include "msg/arena.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "base/extent_alloc.h"

#include <pthread.h>
#include <string.h>

enum { ALIGN = 128 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_extent_alloc pieces = { .size = PLI_NODE_ARENA }; // guarded by guard

static char *base(void)
{
    return pli_node_area(&pli_proc.boot->node, pli_proc.boot->row) +
           (size_t)PLI_NODE_N_LANE * PLI_NODE_LANE;
}

void *pli_arena_take(size_t size)
{
    size_t at;
    size = size == 0 ? ALIGN : (size + ALIGN - 1) / ALIGN * ALIGN;
    pthread_mutex_lock(&guard);
    char *mem = pli_extent_alloc_take(&pieces, size, &at) ? base() + at : NULL;
    if (mem != NULL) {
        memset(mem, 0, size);
    }
    pthread_mutex_unlock(&guard);
    return mem;
}

void pli_arena_give(void *mem)
{
    if (mem == NULL) {
        return;
    }
    pthread_mutex_lock(&guard);
    pli_extent_alloc_give(&pieces, (size_t)((char *)mem - base()));
    pthread_mutex_unlock(&guard);
}

uint64_t pli_arena_offset(const void *p)
{
    return (uint64_t)((const char *)p - pli_proc.boot->node.base);
}

void *pli_arena_at(uint64_t offset)
{
    return pli_proc.boot->node.base + offset;
}

size_t pli_arena_used(void)
{
    pthread_mutex_lock(&guard);
    size_t n = pieces.n_used;
    pthread_mutex_unlock(&guard);
    return n;
}

void pli_arena_clone(void)
{
    pli_extent_alloc_clear(&pieces);
}
