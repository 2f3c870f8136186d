// SPDX-License-Identifier: BSD-3-Clause
// Sharing out a stretch of memory: first fit over a list of pieces sorted by place; what is free is
// joined with its neighbours. The list is private, so that a fault in the memory cannot spoil it.
// Not guarded: the owner has a lock.
#ifndef PLI_BASE_EXTENT_ALLOC_H
#define PLI_BASE_EXTENT_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

struct pli_piece;

struct pli_extent_alloc {
    struct pli_piece *first;
    size_t size; // of all, set by the owner
    size_t n_used;
};

// A free piece of at least this size; false: there is none, or no memory for the list.
bool pli_extent_alloc_take(struct pli_extent_alloc *p, size_t size, size_t *at_out);
// Give back the piece that begins there; returns its size, 0: none does.
size_t pli_extent_alloc_give(struct pli_extent_alloc *p, size_t at);
// Whether this place is free; then from where to where all is.
bool pli_extent_alloc_is_free(const struct pli_extent_alloc *p, size_t at, size_t *begin_out,
                              size_t *end_out);
// Forget all of them.
void pli_extent_alloc_clear(struct pli_extent_alloc *p);

#endif
