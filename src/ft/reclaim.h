// SPDX-License-Identifier: BSD-3-Clause
// Takes back memory of this process that failed processes held.
#ifndef PLI_FT_RECLAIM_H
#define PLI_FT_RECLAIM_H

struct pli_lane;

// Take back the blocks of the lane's outbox that no living process will ever read. Context: lane
// locked.
void pli_reclaim_blocks(struct pli_lane *lane);

#endif
