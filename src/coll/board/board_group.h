// SPDX-License-Identifier: BSD-3-Clause
// Which members of a board count themselves in together: those that share a cache, where members
// are bound to parts of a machine that has several, else members in a row.
// Context of all: any thread.
#ifndef PLI_COLL_BOARD_GROUP_H
#define PLI_COLL_BOARD_GROUP_H

#include <stdint.h>

enum { PLI_BOARD_GROUP_WORDS = 16 }; // of a member's processors, as sched_getaffinity gives them

// Groups in the order of ranks, which launchers put on neighbouring cores: the group of each
// member; how many there are.
uint32_t pli_board_group_row(int n, uint32_t group_out[]);

// By the processors of each member, PLI_BOARD_GROUP_WORDS for each: caches first, then memory, then
// packages. hwloc is asked, which takes milliseconds the first time, where members are not all
// bound alike. 0: that tells nothing.
uint32_t pli_board_group_bound(const uint64_t *masks, int n, uint32_t group_out[]);

#endif
