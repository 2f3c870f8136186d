// SPDX-License-Identifier: BSD-3-Clause
// Chunks of equal objects, which bits mark as used.
#include "tool/tool_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N_OBJECT = 64 };

struct pli_tool_chunk {
    struct pli_tool_chunk *next;
    uint64_t used;
    _Alignas(16) char objects[];
};

void *pli_tool_pool_create(struct pli_tool_pool *p)
{
    struct pli_tool_chunk *c = p->chunks;
    while (c != NULL && c->used == UINT64_MAX) {
        c = c->next;
    }
    if (c == NULL) {
        c = calloc(1, sizeof *c + N_OBJECT * p->size);
        if (c == NULL) {
            return NULL;
        }
        c->next = p->chunks;
        p->chunks = c;
    }
    int i = __builtin_ctzll(~c->used);
    c->used |= (uint64_t)1 << i;
    return memset(c->objects + (size_t)i * p->size, 0, p->size);
}

// The chunk an object is in, used or not, and its number there; NULL: it is none.
static struct pli_tool_chunk *chunk_of(const struct pli_tool_pool *p, const void *object, int *i)
{
    for (struct pli_tool_chunk *c = p->chunks; c != NULL; c = c->next) {
        uintptr_t at = (uintptr_t)object - (uintptr_t)c->objects;
        if (at < N_OBJECT * p->size && at % p->size == 0) {
            *i = (int)(at / p->size);
            return c;
        }
    }
    return NULL;
}

bool pli_tool_pool_has(const struct pli_tool_pool *p, const void *object)
{
    int i;
    const struct pli_tool_chunk *c = object != NULL ? chunk_of(p, object, &i) : NULL;
    return c != NULL && (c->used >> i & 1) != 0;
}

void pli_tool_pool_destroy(struct pli_tool_pool *p, void *object)
{
    int i;
    struct pli_tool_chunk *c = chunk_of(p, object, &i);
    if (c != NULL) {
        c->used &= ~((uint64_t)1 << i);
    }
}

void *pli_tool_pool_next(const struct pli_tool_pool *p, const void *object)
{
    int i = -1;
    struct pli_tool_chunk *c = object == NULL ? p->chunks : chunk_of(p, object, &i);
    while (c != NULL) {
        for (i++; i < N_OBJECT; i++) {
            if ((c->used >> i & 1) != 0) {
                return c->objects + (size_t)i * p->size;
            }
        }
        c = c->next;
        i = -1;
    }
    return NULL;
}
