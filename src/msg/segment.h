// SPDX-License-Identifier: BSD-3-Clause
// Large memory of this process that the other processes of the host can map: its segment of the
// node memory (boot/node_wire.h), which UPC has for itself in its programs. Checkpoints hold it
// with the rest of the node memory.
#ifndef PLI_MSG_SEGMENT_H
#define PLI_MSG_SEGMENT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

// All segments of the host for UPC, which shares them out itself: from now on nothing can be taken.
// Context: start-up of UPC.
enum pli_err pli_segment_claim(char **out);

enum { PLI_SEGMENT_PAGE = 65536 }; // of any machine

// Whole pages; NULL: there is no room, or no segment: of UPC, or where so many addresses cannot be
// had. Those of processes that came later are smaller. Context: any thread.
void *pli_segment_take(size_t size);
void pli_segment_give(void *p); // NULL is fine; the memory goes back to the system

// This process was forked from another one, whose memory all that was taken is. What it has copied
// to the addresses of the segments stays, so they are mapped elsewhere from now on.
void pli_segment_clone(void);

// Between addresses and what can be told to other processes of the host. NULL: segments cannot be
// mapped here.
uint64_t pli_segment_offset(const void *p);
void *pli_segment_at(uint64_t offset);

#endif
