// SPDX-License-Identifier: BSD-3-Clause
// Memory of a window that other processes of the host can map.
#ifndef PLI_RMA_WIN_MEMORY_H
#define PLI_RMA_WIN_MEMORY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_win_memory;

// False: there is none.
bool pli_win_memory_take(struct pli_win_memory *m, size_t len);
// The same, in pages of its own where these can be had. Returns where it begins; NULL: there is
// none.
void *pli_win_memory_take_pages(struct pli_win_memory *m, size_t len);
// What another member took so and tells; m is this member's. NULL: it cannot be mapped here.
void *pli_win_memory_share(struct pli_win_memory *m, int where, uint64_t offset, size_t len);
// In a process that was just forked: let the pages be a copy that is this process's alone.
// Context: the parent does not change them meanwhile.
enum pli_err pli_win_memory_copy(struct pli_win_memory *m);
// Such a copy becomes memory that others of the host can map: one member moves it there, and tells
// where it is (m->where and *offset_out; false: there is no room), and every other one lets its
// pages be that memory. Addresses stay.
bool pli_win_memory_offer_copy(struct pli_win_memory *m, uint64_t *offset_out);
enum pli_err pli_win_memory_join(struct pli_win_memory *m, int where, uint64_t offset);
void pli_win_memory_give(struct pli_win_memory *m);
// Where memory is, as others of the host can be told; and where that is here: NULL, not at all.
uint64_t pli_win_memory_offset(const struct pli_win_memory *m, const void *p);
void *pli_win_memory_at(int where, uint64_t offset);
// The same for an offset in memory that may be in the pages of m.
void *pli_win_memory_in(const struct pli_win_memory *m, int where, uint64_t offset);

#endif
