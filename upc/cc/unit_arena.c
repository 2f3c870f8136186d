// SPDX-License-Identifier: BSD-3-Clause
// Allocates from the arena of a translation, and builds growing text.
#include "unit_arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 1 << 18 };

struct arena_block {
    struct arena_block *next;
    size_t used, cap;
    _Alignas(max_align_t) unsigned char data[];
};

static void *need(void *p)
{
    if (p == NULL) {
        fputs("upcc: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

void *pli_unit_arena_alloc(struct arena *a, size_t size)
{
    size_t align = _Alignof(max_align_t);
    size = (size + align - 1) / align * align;
    struct arena_block *b = a->blocks;
    if (b == NULL || b->cap - b->used < size) {
        size_t cap = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        b = need(calloc(1, sizeof *b + cap));
        b->cap = cap;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

char *pli_unit_arena_strdup(struct arena *a, const char *s, size_t len)
{
    char *p = pli_unit_arena_alloc(a, len + 1);
    memcpy(p, s, len);
    return p;
}

char *pli_unit_arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = pli_unit_arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

void pli_unit_arena_fini(struct arena *a)
{
    while (a->blocks != NULL) {
        struct arena_block *b = a->blocks;
        a->blocks = b->next;
        free(b);
    }
}

void *pli_unit_arena_grow(struct arena *a, void *old, size_t n, size_t *cap, size_t item)
{
    if (n < *cap) {
        return old;
    }
    *cap = *cap == 0 ? 64 : *cap * 2;
    void *p = pli_unit_arena_alloc(a, *cap * item);
    if (n > 0) {
        memcpy(p, old, n * item);
    }
    return p;
}

void pli_unit_arena_text_add(struct text *t, const char *s, size_t len)
{
    if (t->cap - t->len <= len) {
        size_t cap = t->cap * 2 + len + 256;
        t->data = need(realloc(t->data, cap));
        t->cap = cap;
    }
    memcpy(t->data + t->len, s, len);
    t->len += len;
    t->data[t->len] = '\0';
}

void pli_unit_arena_text_puts(struct text *t, const char *s)
{
    pli_unit_arena_text_add(t, s, strlen(s));
}

void pli_unit_arena_text_printf(struct text *t, const char *fmt, ...)
{
    char small[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if ((size_t)n < sizeof small) {
        pli_unit_arena_text_add(t, small, (size_t)n);
        return;
    }
    char *big = need(malloc((size_t)n + 1));
    va_start(ap, fmt);
    vsnprintf(big, (size_t)n + 1, fmt, ap);
    va_end(ap);
    pli_unit_arena_text_add(t, big, (size_t)n);
    free(big);
}

void pli_unit_arena_text_fini(struct text *t)
{
    free(t->data);
    *t = (struct text){ 0 };
}
