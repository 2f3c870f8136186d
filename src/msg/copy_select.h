// SPDX-License-Identifier: BSD-3-Clause
// Which way a large message between processes of a host is copied. What is fastest differs from
// machine to machine by a factor of two and depends on what the program does: so each lane measures
// its own messages and goes by that.
#ifndef PLI_MSG_COPY_SELECT_H
#define PLI_MSG_COPY_SELECT_H

#include <stdbool.h>
#include <stdint.h>

struct pli_lane;
struct pli_request;

enum pli_copy_way {
    PLI_COPY_BLOCKS,   // through blocks of the sender
    PLI_COPY_READ,     // the receiver reads the sender's buffer
    PLI_COPY_TOGETHER, // the same, and a sender that waits writes part of it
    PLI_N_COPY_WAY
};

// What a core does for a message.
enum pli_copy_work {
    PLI_COPY_WORK_READ, // copy all of it
    PLI_COPY_WORK_IN,   // copy it to blocks
    PLI_COPY_WORK_OUT,  // copy it out of blocks
    PLI_N_COPY_WORK
};

// Context of all: lane locked.

// The way for a message of so many bytes of which the first n_way ways are possible.
enum pli_copy_way pli_copy_select_take(struct pli_lane *lane, uint64_t size, int n_way);
// The receive begins to be copied this way, and is over; pli_rndv_end_receive says the latter.
void pli_copy_select_begin(struct pli_request *recv, enum pli_copy_way way, uint64_t now_ns);
void pli_copy_select_end(struct pli_request *recv, uint64_t now_ns);

// The way while the lane has sends of its own under way, so that this core copies in any case: by
// blocks, or it reads.
enum pli_copy_way pli_copy_select_both(struct pli_lane *lane, uint64_t size);
// Then: so many bytes of a message of this size took this core so long.
void pli_copy_select_work(struct pli_lane *lane, enum pli_copy_work work, uint64_t size,
                          uint64_t bytes, uint64_t ns);

#endif
