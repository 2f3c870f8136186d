// SPDX-License-Identifier: BSD-3-Clause
// Requests to far threads about heaps, locks and barriers.
#ifndef PLI_UPC_RT_ASK_H
#define PLI_UPC_RT_ASK_H

#include <stdint.h>

enum rt_ask_kind {
    RT_ASK_ALLOC,
    RT_ASK_FREE,
    RT_ASK_LOCK,          // the answer is 0 while it is held
    RT_ASK_LOCK_OR_QUEUE, // in that case RT_TELL_TRY follows when it is dropped
    RT_ASK_UNLOCK,
    RT_TELL_DROPPED, // to the thread that has the lock: others are queued for it
    RT_TELL_TRY,
    RT_TELL_NOTIFY,
    RT_TELL_RELEASE
};

struct rt_ask {
    uint32_t kind;
    int32_t from;
    uint64_t value;
};

// Send a request and wait for its answer; or send a message without answer.
uint64_t pli_rt_ask(int to, enum rt_ask_kind kind, uint64_t value);
void pli_rt_ask_tell(int to, enum rt_ask_kind kind, uint64_t value);

#endif
