// SPDX-License-Identifier: BSD-3-Clause
// Memory of a window that other processes of the host can map.
#ifndef PLI_RMA_WIN_MEMORY_H
#define PLI_RMA_WIN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_win_memory;

// False: there is none.
bool pli_win_memory_take(struct pli_win_memory *m, size_t len);
void pli_win_memory_give(struct pli_win_memory *m);
// Where memory is, as others of the host can be told; and where that is here: NULL, not at all.
uint64_t pli_win_memory_offset(const struct pli_win_memory *m, const void *p);
void *pli_win_memory_at(int where, uint64_t offset);

#endif
