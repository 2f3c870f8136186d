// SPDX-License-Identifier: BSD-3-Clause
// What the dead held of this process's memory.
#ifndef PLI_FT_RECLAIM_H
#define PLI_FT_RECLAIM_H

struct pli_lane;

// Take back the blocks of the lane's outbox that nobody who lives will ever read. Context: lane
// locked.
void pli_reclaim_blocks(struct pli_lane *lane);

#endif
