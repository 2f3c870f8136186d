// SPDX-License-Identifier: BSD-3-Clause
// Objects that MPI_T hands out, such that a wrong handle is recognised without touching memory that
// is not ours. Memory is kept for the next object.
#ifndef PLI_TOOL_TOOL_POOL_H
#define PLI_TOOL_TOOL_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pli_tool_chunk;

struct pli_tool_pool {
    size_t size; // of an object
    struct pli_tool_chunk *chunks;
};

// Context of all: pli_tool_lock is held.

// A new object, zeroed; NULL: no memory.
void *pli_tool_pool_create(struct pli_tool_pool *p);
// Whether the address is that of an object in use.
bool pli_tool_pool_has(const struct pli_tool_pool *p, const void *object);
void pli_tool_pool_destroy(struct pli_tool_pool *p, void *object);
// The next object in use after this one, which may just have been destroyed; the first for NULL.
// NULL: there are no more.
void *pli_tool_pool_next(const struct pli_tool_pool *p, const void *object);

#endif
