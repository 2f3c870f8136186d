// SPDX-License-Identifier: BSD-3-Clause
// What members of a region say to each other when memory is not shared.
#ifndef PLI_ONESIDED_REGION_WIRE_H
#define PLI_ONESIDED_REGION_WIRE_H

#include <stdint.h>

// Numbers are appended and never reused.
enum pli_region_kind {
    PLI_REGION_MSG_PUT = 1,     // at; data follows
    PLI_REGION_MSG_GET,         // at, block = length; answered by the bytes
    PLI_REGION_MSG_SET,         // at, block = length, byte
    PLI_REGION_MSG_PUT_STRIDED, // at, step, block, n; packed data follows
    PLI_REGION_MSG_GET_STRIDED, // at, step, block, n; answered by packed data
    PLI_REGION_MSG_PUT_INDEXED, // block, n; n offsets and packed data follow
    PLI_REGION_MSG_GET_INDEXED, // block, n; n offsets follow; answered by packed data
    PLI_REGION_MSG_ATOMIC,      // at, type, op, two operands of 8 bytes follow
    PLI_REGION_MSG_FLUSH,       // answered by nothing
    PLI_REGION_MSG_ASK,         // text follows; answered by text
    PLI_REGION_MSG_KEY,         // at; answered by struct pli_region_key, or nothing: there is none
    PLI_REGION_MSG_TAKE         // at, block = length; the data is the next message with this tag
};

enum {
    PLI_REGION_PIECE = 8192,         // data in one message
    PLI_REGION_LARGE = 32768,        // a put from here on is a message of its own
    PLI_REGION_TAG_DATA = 0x40000000 // added to the tags of those
};

struct pli_region_msg {
    uint8_t kind, type, op, byte;
    uint32_t tag; // of the answer, 0: none is wanted; TAKE: of the data
    uint64_t at, block, n;
    int64_t step;
    unsigned char data[2 * PLI_REGION_PIECE]; // offsets and data
};
_Static_assert(sizeof(struct pli_region_msg) == 40 + 2 * PLI_REGION_PIECE,
               "seen by other processes");

// What reaches a stretch of a member's memory by UCX.
struct pli_region_key {
    uint64_t from, to; // offsets
    uint64_t address;  // of `from`, in the member's process
    uint32_t is_native;
    uint32_t n; // bytes of
    unsigned char key[PLI_REGION_PIECE - 32];
};
_Static_assert(sizeof(struct pli_region_key) == PLI_REGION_PIECE, "seen by other processes");

enum { PLI_REGION_KEY_HEAD = 32 };
enum { PLI_REGION_HEAD = 40, PLI_REGION_TAG_ASK = 0, PLI_REGION_TAG_FIRST = 1 };

#endif
