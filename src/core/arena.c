// SPDX-License-Identifier: BSD-3-Clause
// First fit over a list of pieces sorted by place; what is free is joined with its neighbours. The
// list is private, so nobody can spoil it from outside.
#include "core/arena.h"

#include "boot/boot.h"
#include "core/lane.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 128 };

struct piece {
    struct piece *next;
    size_t at, size;
    bool is_free;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct piece *first; // guarded by guard
static size_t n_used;       // guarded by guard

static char *base(void)
{
    return pli_node_area(&pli_proc.boot->node, pli_proc.boot->row) +
           (size_t)PLI_NODE_N_LANE * PLI_NODE_LANE;
}

static struct piece *make(size_t at, size_t size, struct piece *next)
{
    struct piece *p = malloc(sizeof *p);
    if (p != NULL) {
        *p = (struct piece){ next, at, size, true };
    }
    return p;
}

static struct piece *find(size_t size)
{
    if (first == NULL) {
        first = make(0, PLI_NODE_ARENA, NULL);
    }
    struct piece *p = first;
    while (p != NULL && (!p->is_free || p->size < size)) {
        p = p->next;
    }
    if (p != NULL && p->size > size) {
        struct piece *rest = make(p->at + size, p->size - size, p->next);
        if (rest != NULL) { // without memory for it the piece is simply larger
            p->next = rest;
            p->size = size;
        }
    }
    return p;
}

void *pli_arena_take(size_t size)
{
    size = size == 0 ? ALIGN : (size + ALIGN - 1) / ALIGN * ALIGN;
    pthread_mutex_lock(&guard);
    struct piece *p = find(size);
    void *mem = NULL;
    if (p != NULL) {
        p->is_free = false;
        n_used += p->size;
        mem = base() + p->at;
        memset(mem, 0, size);
    }
    pthread_mutex_unlock(&guard);
    return mem;
}

// Join a free piece with a free one behind it.
static void join(struct piece *p)
{
    struct piece *next = p != NULL ? p->next : NULL;
    if (next != NULL && p->is_free && next->is_free) {
        p->size += next->size;
        p->next = next->next;
        free(next);
    }
}

void pli_arena_give(void *mem)
{
    if (mem == NULL) {
        return;
    }
    pthread_mutex_lock(&guard);
    size_t at = (size_t)((char *)mem - base());
    struct piece *before = NULL, *p = first;
    while (p != NULL && p->at != at) {
        before = p;
        p = p->next;
    }
    if (p != NULL && !p->is_free) {
        p->is_free = true;
        n_used -= p->size;
        join(p);
        join(before);
    }
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
    size_t n = n_used;
    pthread_mutex_unlock(&guard);
    return n;
}

void pli_arena_clone(void)
{
    while (first != NULL) {
        struct piece *p = first;
        first = p->next;
        free(p);
    }
    n_used = 0;
}
