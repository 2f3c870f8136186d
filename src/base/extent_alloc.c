// SPDX-License-Identifier: BSD-3-Clause
// Keeps the pieces of a stretch of memory in a list sorted by place and takes the first that fits.
#include "base/extent_alloc.h"

#include <stdlib.h>

struct pli_piece {
    struct pli_piece *next;
    size_t at, size;
    bool is_free;
};

static struct pli_piece *make(size_t at, size_t size, struct pli_piece *next)
{
    struct pli_piece *p = malloc(sizeof *p);
    if (p != NULL) {
        *p = (struct pli_piece){ next, at, size, true };
    }
    return p;
}

bool pli_extent_alloc_take(struct pli_extent_alloc *all, size_t size, size_t *at_out)
{
    if (all->first == NULL) {
        all->first = make(0, all->size, NULL);
    }
    struct pli_piece *p = all->first;
    while (p != NULL && (!p->is_free || p->size < size)) {
        p = p->next;
    }
    if (p == NULL) {
        return false;
    }
    if (p->size > size) {
        struct pli_piece *rest = make(p->at + size, p->size - size, p->next);
        if (rest != NULL) { // without memory for it the piece is simply larger
            p->next = rest;
            p->size = size;
        }
    }
    p->is_free = false;
    all->n_used += p->size;
    *at_out = p->at;
    return true;
}

// Join a free piece with a free one behind it.
static void join(struct pli_piece *p)
{
    struct pli_piece *next = p != NULL ? p->next : NULL;
    if (next != NULL && p->is_free && next->is_free) {
        p->size += next->size;
        p->next = next->next;
        free(next);
    }
}

size_t pli_extent_alloc_give(struct pli_extent_alloc *all, size_t at)
{
    struct pli_piece *before = NULL, *p = all->first;
    while (p != NULL && p->at != at) {
        before = p;
        p = p->next;
    }
    if (p == NULL || p->is_free) {
        return 0;
    }
    size_t size = p->size;
    p->is_free = true;
    all->n_used -= size;
    join(p);
    join(before);
    return size;
}

bool pli_extent_alloc_is_free(const struct pli_extent_alloc *all, size_t at, size_t *begin_out,
                              size_t *end_out)
{
    const struct pli_piece *p = all->first;
    while (p != NULL && at - p->at >= p->size) {
        p = p->next;
    }
    if (p == NULL || !p->is_free) {
        return false;
    }
    *begin_out = p->at;
    *end_out = p->at + p->size;
    return true;
}

void pli_extent_alloc_clear(struct pli_extent_alloc *all)
{
    while (all->first != NULL) {
        struct pli_piece *p = all->first;
        all->first = p->next;
        free(p);
    }
    all->n_used = 0;
}
