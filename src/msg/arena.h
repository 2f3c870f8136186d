// SPDX-License-Identifier: BSD-3-Clause
// Memory of this process that the other processes of the host see: the part of its area behind the
// lanes. Taken and given back by the owner; others are told offsets.
#ifndef PLI_MSG_ARENA_H
#define PLI_MSG_ARENA_H

#include <stddef.h>
#include <stdint.h>

// Zeroed, on a line of its own; NULL: no room. Context: any thread.
void *pli_arena_take(size_t size);
void pli_arena_give(void *p); // NULL is fine

// Between addresses and what can be told to other processes of the host. 0 is never an offset of
// something taken.
uint64_t pli_arena_offset(const void *p);
void *pli_arena_at(uint64_t offset);

// This process was forked from another one, whose memory all that was taken is: begin anew.
void pli_arena_clone(void);

// Bytes in use, to find leaks.
size_t pli_arena_used(void);

#endif
