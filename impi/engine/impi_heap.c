// SPDX-License-Identifier: BSD-3-Clause
// Allocates the gateway's memory: first fit from the lowest address, so that the same pages are
// used again and again.
#include "engine/impi_heap.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>

enum { LINE = 64, PAGE = 4096, PERIOD_MS = 1000 };
#define KEPT ((uint64_t)64 << 20) // free memory up to here stays in any case

struct pli_impi_heap_piece {
    struct pli_impi_heap_piece *prev, *next;
    uint64_t at, size;
    bool is_free;
};

bool pli_impi_heap_init(struct pli_impi_heap *h, int fd, uint64_t begin, uint64_t size)
{
    struct pli_impi_heap_piece *p = calloc(1, sizeof *p);
    if (p != NULL) {
        *p = (struct pli_impi_heap_piece){ .at = begin, .size = size, .is_free = true };
    }
    *h = (struct pli_impi_heap){ .first = p, .fd = fd };
    return p != NULL;
}

void pli_impi_heap_fini(struct pli_impi_heap *h)
{
    while (h->first != NULL) {
        struct pli_impi_heap_piece *next = h->first->next;
        free(h->first);
        h->first = next;
    }
}

uint64_t pli_impi_heap_take(struct pli_impi_heap *h, uint64_t size)
{
    uint64_t want = (size + LINE - 1) / LINE * LINE;
    struct pli_impi_heap_piece *p = h->first;
    while (p != NULL && (!p->is_free || p->size < want)) {
        p = p->next;
    }
    if (p == NULL || want < size || want == 0) {
        return 0;
    }
    if (p->size > want) {
        struct pli_impi_heap_piece *rest = malloc(sizeof *rest);
        if (rest == NULL) {
            return 0;
        }
        *rest = (struct pli_impi_heap_piece){ p, p->next, p->at + want, p->size - want, true };
        if (p->next != NULL) {
            p->next->prev = rest;
        }
        p->next = rest;
        p->size = want;
    }
    p->is_free = false;
    h->used += want;
    h->peak = h->used > h->peak ? h->used : h->peak;
    h->held = h->used > h->held ? h->used : h->held;
    return p->at;
}

// Give free pages back to the system: nothing will be written to them soon.
static void trim(const struct pli_impi_heap *h)
{
    uint64_t keep = h->first->at + KEPT;
    for (const struct pli_impi_heap_piece *p = h->first; p != NULL; p = p->next) {
        uint64_t from = p->at > keep ? p->at : keep, to = p->at + p->size;
        from = (from + PAGE - 1) / PAGE * PAGE;
        to = to / PAGE * PAGE;
        if (p->is_free && from < to) {
            int rc = fallocate(h->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                               (off_t)(to - from));
            (void)rc; // refused: it stays in use until the end of the job
        }
    }
}

// Make one of two free neighbours; the second one goes.
static void join(struct pli_impi_heap_piece *a)
{
    struct pli_impi_heap_piece *b = a->next;
    a->size += b->size;
    a->next = b->next;
    if (b->next != NULL) {
        b->next->prev = a;
    }
    free(b);
}

void pli_impi_heap_give(struct pli_impi_heap *h, uint64_t offset)
{
    struct pli_impi_heap_piece *p = h->first;
    while (p != NULL && p->at != offset) {
        p = p->next;
    }
    if (p == NULL || p->is_free) {
        return;
    }
    p->is_free = true;
    h->used -= p->size;
    if (p->next != NULL && p->next->is_free) {
        join(p);
    }
    if (p->prev != NULL && p->prev->is_free) {
        join(p->prev);
    }
}

int pli_impi_heap_trim(struct pli_impi_heap *h, uint64_t now_ms)
{
    if (h->held <= KEPT || h->used > h->held / 2) {
        return -1;
    }
    if (now_ms >= h->due_ms) {
        if (h->peak <= h->held / 2) {
            trim(h);
            h->held = h->peak;
        }
        h->peak = h->used;
        h->due_ms = now_ms + PERIOD_MS;
    }
    return h->held > KEPT ? (int)(h->due_ms - now_ms) : -1;
}
