// SPDX-License-Identifier: BSD-3-Clause
// What members of a window say to each other, and the words that those of one host share.
#ifndef PLI_RMA_RMA_WIRE_H
#define PLI_RMA_RMA_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

// Numbers are appended and never reused.
enum pli_rma_kind {
    PLI_RMA_PUT = 1, // blocks; packed data follows
    PLI_RMA_TAKE,    // one block; the data is the next message with this tag
    PLI_RMA_GET,     // blocks; answered by packed data
    PLI_RMA_APPLY,  // op, elem, blocks; packed data follows; with a tag: answered by what was there
    PLI_RMA_SWAP,   // one block; what is compared and what is stored follow; answered likewise
    PLI_RMA_FLUSH,  // answered when all before it is done
    PLI_RMA_LOCK,   // op: enum pli_rma_hold; bytes: dead holders the asker has heard of; answered
                    // when it is granted, or another holder has died
    PLI_RMA_UNLOCK, // op: enum pli_rma_hold; answered
    PLI_RMA_LOCK_FREE // who held the lock has left it, and somebody waits
};

enum pli_rma_hold { PLI_RMA_SHARED = 1, PLI_RMA_EXCLUSIVE };

// The elements of an accumulation: numbers, or pairs of two. A pair may have a hole in it, and is
// one piece of `size` bytes in a message.
struct pli_rma_elem {
    uint8_t number, index;  // enum pli_number; index: of a pair, else 0
    uint16_t first, second; // bytes of the first part, and where the second one begins
    uint16_t size;          // bytes in a message
};
_Static_assert(sizeof(struct pli_rma_elem) == 8, "seen by other processes");

// n runs of len bytes, step apart. Of a pair with a hole: n pairs. Places count from the start of
// the window, or are addresses where memory is attached to it.
struct pli_rma_block {
    int64_t at;
    uint64_t len;
    int64_t step;
    uint64_t n;
};
_Static_assert(sizeof(struct pli_rma_block) == 32, "seen by other processes");

enum {
    PLI_RMA_N_BLOCK = 256, // of one message
    PLI_RMA_ROOM = 65536,  // bytes of data in one message
    PLI_RMA_LARGE = 32768, // a run from here on is a message of its own
};

struct pli_rma_msg {
    uint8_t kind, op;
    uint16_t n_block;
    uint32_t tag; // of the answer, 0: none is wanted; TAKE: of the data
    uint64_t bytes;
    struct pli_rma_elem elem;
    unsigned char data[]; // blocks, then data
};
_Static_assert(sizeof(struct pli_rma_msg) == 24, "seen by other processes");

// Answers to FLUSH, LOCK and UNLOCK.
struct pli_rma_reply {
    int32_t err;     // enum pli_err of an access before it
    uint32_t n_lost; // deaths of holders of the lock so far
};

enum {
    PLI_RMA_TAG_ASK = 0,
    PLI_RMA_TAG_POST,             // an exposure has begun
    PLI_RMA_TAG_COMPLETE,         // an access to it is over
    PLI_RMA_TAG_FIRST = 16,       // of answers
    PLI_RMA_TAG_DATA = 0x40000000 // added to the tags of data
};

// Beside the memory of each member, seen by all who load and store there.
struct pli_guard {
    // Holders of the window's lock: how many share it, or the rank of one alone; and whether others
    // wait at the owner, who must then be told when it gets free. Behind the guard there is a byte
    // for each member of the window, see rma_lock.c.
    _Atomic uint32_t lock;
    _Atomic uint32_t busy;   // an accumulation runs: index of its process in the job + 1
    _Atomic uint32_t n_lost; // how often the lock was released for holders that died
    uint32_t spare[13];
};
_Static_assert(sizeof(struct pli_guard) == 64, "shared with other processes");

enum { PLI_GUARD_ALONE = 1 << 30 };
#define PLI_GUARD_QUEUED 0x80000000u

#endif
