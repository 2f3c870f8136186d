// SPDX-License-Identifier: BSD-3-Clause
// Allocates memory of windows that other processes of the host can map.
// The memory is this process's segment of the node memory, or its arena there where it has none, so
// that checkpoints hold it and that others of the host map it.
#include "rma/win_memory.h"

#include "msg/arena.h"
#include "msg/segment.h"
#include "rma/win.h"

#include <stdlib.h>
#include <unistd.h>

uint64_t pli_win_memory_offset(const struct pli_win_memory *m, const void *p)
{
    return m->where == PLI_MEMORY_SEGMENT ? pli_segment_offset(p)
           : m->where == PLI_MEMORY_ARENA ? pli_arena_offset(p)
                                          : 0;
}

void *pli_win_memory_at(int where, uint64_t offset)
{
    return where == PLI_MEMORY_SEGMENT ? pli_segment_at(offset) : pli_arena_at(offset);
}

void pli_win_memory_give(struct pli_win_memory *m)
{
    if (m->at == NULL) {
        return;
    }
    if (m->where == PLI_MEMORY_SEGMENT) {
        pli_segment_give(m->at);
    } else if (m->where == PLI_MEMORY_ARENA) {
        pli_arena_give(m->at);
    } else if (m->where == PLI_MEMORY_PRIVATE) {
        free(m->at);
    }
    m->at = NULL;
}

bool pli_win_memory_take(struct pli_win_memory *m, size_t len)
{
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    m->at = len < all ? pli_segment_take(len) : NULL;
    m->where = PLI_MEMORY_SEGMENT;
    if (m->at == NULL) {
        m->at = pli_arena_take(len);
        m->where = PLI_MEMORY_ARENA;
    }
    return m->at != NULL;
}
