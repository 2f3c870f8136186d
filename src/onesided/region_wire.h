// SPDX-License-Identifier: BSD-3-Clause
// The messages that members of a region send each other when they share no memory, and the words
// that members on one host share.
#ifndef PLI_ONESIDED_REGION_WIRE_H
#define PLI_ONESIDED_REGION_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Numbers are appended and never reused.
enum pli_region_kind {
    PLI_REGION_MSG_PUT = 1,   // blocks; packed data follows
    PLI_REGION_MSG_PUT_LARGE, // one block; the data is the next message with this tag
    PLI_REGION_MSG_GET,       // blocks; answered by packed data
    PLI_REGION_MSG_SET,       // blocks; op: the byte
    PLI_REGION_MSG_APPLY,     // op, elem, blocks; packed data follows; with a tag: answered by the
                              // old values
    PLI_REGION_MSG_SWAP,      // one block; what is compared and what is stored follow; answered
                              // by the old value
    PLI_REGION_MSG_WORD,      // one block; op, elem.number: enum pli_region_op and _type; two
                              // operands of 8 bytes follow; with a tag: answered by the old value
    PLI_REGION_MSG_FLUSH,     // answered by int32_t, enum pli_err of the accesses before it
    PLI_REGION_MSG_ASK,       // text for the owner's client follows, which may answer
    PLI_REGION_MSG_KEY        // one block: an offset; answered by struct pli_region_key, or by
                              // nothing where UCX does not reach it
};

// The elements of an accumulation: numbers, or pairs of two. A pair may have a hole in it, and is
// one piece of `size` bytes in a message.
struct pli_region_elem {
    uint8_t number, index;  // enum pli_number; index: of a pair, else 0
    uint16_t first, second; // bytes of the first part, and where the second one begins
    uint16_t size;          // bytes in a message
};
_Static_assert(sizeof(struct pli_region_elem) == 8, "seen by other processes");

// The numbers in elem, and in op of PLI_REGION_MSG_APPLY; libimpi has no other names for them.
enum pli_elem_number {
    PLI_ELEM_I8 = 1,
    PLI_ELEM_U8,
    PLI_ELEM_I16,
    PLI_ELEM_U16,
    PLI_ELEM_I32,
    PLI_ELEM_U32,
    PLI_ELEM_I64,
    PLI_ELEM_U64,
    PLI_ELEM_F32 = 12,
    PLI_ELEM_F64,
    PLI_ELEM_LD,
    PLI_ELEM_CF32 = 17,
    PLI_ELEM_CF64,
    PLI_ELEM_CLD
};

enum pli_combine {
    PLI_COMBINE_SUM = 1,
    PLI_COMBINE_PROD,
    PLI_COMBINE_MIN,
    PLI_COMBINE_MAX,
    PLI_COMBINE_BAND,
    PLI_COMBINE_BOR,
    PLI_COMBINE_BXOR,
    PLI_COMBINE_LAND,
    PLI_COMBINE_LOR,
    PLI_COMBINE_LXOR,
    PLI_COMBINE_MINLOC,
    PLI_COMBINE_MAXLOC,
    PLI_COMBINE_REPLACE,
    PLI_COMBINE_NO_OP
};

// n runs of len bytes, step apart. Of a pair with a hole: n pairs. Places count from the start of
// the owner's memory, or are addresses.
struct pli_region_block {
    int64_t at;
    uint64_t len;
    int64_t step;
    uint64_t n;
};
_Static_assert(sizeof(struct pli_region_block) == 32, "seen by other processes");

enum {
    PLI_REGION_N_BLOCK = 256, // of one message
    PLI_REGION_ROOM = 65536,  // bytes of data in one message
    PLI_REGION_COPY = 4096,   // a get up to this is copied before the owner does anything else
    PLI_REGION_LARGE = 32768, // a put of one run from here on is a message of its own
    PLI_REGION_REFUSED = -54, // an access before was outside of the memory: PLI_ERR_RMA_RANGE
};

struct pli_region_msg {
    uint8_t kind, op;
    uint16_t n_block;
    uint32_t tag; // of the answer, 0: none is wanted; PUT_LARGE: of the data
    uint64_t bytes;
    struct pli_region_elem elem;
    unsigned char data[]; // blocks, then data
};
_Static_assert(sizeof(struct pli_region_msg) == 24, "seen by other processes");

// What UCX needs to reach a chunk of a member's memory.
struct pli_region_key {
    uint64_t from, to; // offsets
    uint64_t address;  // of `from`, in the member's process
    uint32_t has_device;
    uint32_t n; // bytes of the key
    unsigned char key[8192 - 32];
};
_Static_assert(sizeof(struct pli_region_key) == 8192, "seen by other processes");
enum { PLI_REGION_KEY_HEAD = 32 };

enum {
    PLI_REGION_TAG_ASK = 0,
    PLI_REGION_TAG_CLIENT = 1,       // up to 15: empty messages of the client
    PLI_REGION_TAG_FIRST = 16,       // of answers
    PLI_REGION_TAG_DATA = 0x40000000 // added to the tags of data; half of the tags between MPI jobs
};

// Beside the memory of each member, seen by all members that load and store there.
struct pli_guard {
    // Holders of the member's lock: how many share it, or the rank of an exclusive one; and whether
    // others wait at the owner, which must then be told when the lock gets free. Behind the guard
    // there is a byte for each member of the region, see region_lock.c.
    _Atomic uint32_t lock;
    _Atomic uint32_t busy;   // an accumulation runs: index of its process in the job + 1
    _Atomic uint32_t n_lost; // how often the lock was released for holders that died
    _Atomic uint32_t lost;   // rank of the last of them
    uint32_t spare[12];
};
_Static_assert(sizeof(struct pli_guard) == 64, "shared with other processes");

enum { PLI_GUARD_ALONE = 1 << 30 };
#define PLI_GUARD_QUEUED 0x80000000u

enum pli_hold { PLI_HOLD_SHARED = 1, PLI_HOLD_EXCLUSIVE };

// One more run behind n blocks; false: there is no room for it.
static inline bool pli_region_block_add(struct pli_region_block *blocks, int *n, int max,
                                        int64_t at, uint64_t len)
{
    struct pli_region_block *b = *n > 0 ? &blocks[*n - 1] : NULL;
    if (b != NULL && b->len == len && b->n == 1) {
        b->step = at - b->at;
        b->n = 2;
    } else if (b != NULL && b->len == len && at == b->at + (int64_t)b->n * b->step) {
        b->n++;
    } else if (*n < max) {
        blocks[(*n)++] = (struct pli_region_block){ at, len, 0, 1 };
    } else {
        return false;
    }
    return true;
}

// One element with a hole, between memory and message.
static inline void pli_region_elem_scatter(const struct pli_region_elem *e, char *to,
                                           const char *packed)
{
    memcpy(to, packed, e->first);
    memcpy(to + e->second, packed + e->first, (size_t)e->size - e->first);
}

static inline void pli_region_elem_gather(const struct pli_region_elem *e, char *packed,
                                          const char *from)
{
    memcpy(packed, from, e->first);
    memcpy(packed + e->first, from + e->second, (size_t)e->size - e->first);
}

#endif
