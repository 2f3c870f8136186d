// SPDX-License-Identifier: BSD-3-Clause
// Memory of one translation: everything is carved from an arena and freed with it.
#ifndef PLI_UPC_CC_UNIT_ARENA_H
#define PLI_UPC_CC_UNIT_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
};

// Growing text. The bytes live on the heap until pli_unit_arena_text_fini.
struct text {
    char *data;
    size_t len, cap;
};

// Zeroed memory, aligned for any object. Ends the program when the system has none left.
void *pli_unit_arena_alloc(struct arena *a, size_t size);
char *pli_unit_arena_strdup(struct arena *a, const char *s, size_t len);
char *pli_unit_arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void pli_unit_arena_fini(struct arena *a);

// Double an array that is full; returns where it lives now. The old copy stays in the arena.
void *pli_unit_arena_grow(struct arena *a, void *old, size_t n, size_t *cap, size_t item);

void pli_unit_arena_text_add(struct text *t, const char *s, size_t len);
void pli_unit_arena_text_puts(struct text *t, const char *s);
void pli_unit_arena_text_printf(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void pli_unit_arena_text_fini(struct text *t);

#endif
