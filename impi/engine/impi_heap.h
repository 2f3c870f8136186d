// SPDX-License-Identifier: BSD-3-Clause
// The gateway's memory, which the agent allocates and the ranks map. It is sparse: only pages that
// were written take memory, and unused pages are given back to the system, but not at once: a
// stream of messages needs as much again soon, and new pages cost more than copying the data into
// them.
#ifndef PLI_IMPI_HEAP_H
#define PLI_IMPI_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct pli_impi_heap_piece;

struct pli_impi_heap {
    struct pli_impi_heap_piece *first; // all pieces, by place
    uint64_t used;
    uint64_t peak;   // of used, in this period
    uint64_t held;   // of used, since memory was given back
    uint64_t due_ms; // when this period ends
    int fd;
};

// `begin` is an offset in the memory behind fd.
bool pli_impi_heap_init(struct pli_impi_heap *h, int fd, uint64_t begin, uint64_t size);
void pli_impi_heap_fini(struct pli_impi_heap *h);

// Offset of `size` bytes, 0: no room.
uint64_t pli_impi_heap_take(struct pli_impi_heap *h, uint64_t size);
void pli_impi_heap_give(struct pli_impi_heap *h, uint64_t offset);

// Give memory back if less than half of it was in use for a while. Milliseconds until it is to be
// called again, -1: not before the next allocation or release.
int pli_impi_heap_trim(struct pli_impi_heap *h, uint64_t now_ms);

#endif
