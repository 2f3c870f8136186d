// SPDX-License-Identifier: BSD-3-Clause
// The memory that the members of a communicator on one host share: slots for a few bytes, and
// counts of the members that have arrived. It is in the arena of rank 0.
#ifndef PLI_COLL_BOARD_WIRE_H
#define PLI_COLL_BOARD_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    PLI_BOARD_INLINE = 96,
    PLI_BOARD_RING = 8,
    PLI_BOARD_N_GROUP = 16,
    PLI_BOARD_POSTS = 16,       // postings of a member that may wait to be read
    PLI_BOARD_LARGE_POSTS = 4,  // large ones
    PLI_BOARD_POSTS_RANKS = 256 // members of a board that has room for postings
};

// One posting. What is said here is complete once seq has its number.
struct pli_board_slot {
    _Alignas(128) _Atomic uint64_t seq;
    uint64_t bytes; // of the operation at this rank
    uint32_t what;  // pli_board_what: the operation and its root
    union {
        uint32_t error;  // of a result: 0, or an enum below
        uint32_t before; // of a member: what it did before, see pli_board_begin
    };
    uint64_t offset; // where more data is
    unsigned char data[PLI_BOARD_INLINE];
};
_Static_assert(sizeof(struct pli_board_slot) == 128, "a slot is a pair of lines");

enum pli_board_stage {
    PLI_BOARD_IN,
    PLI_BOARD_LEFT, // it has no more use for the board
    PLI_BOARD_DONE  // and has given back its own pieces
};

enum pli_board_error { PLI_BOARD_FINE, PLI_BOARD_SIZES, PLI_BOARD_CALLS };

// Two slots are used in turn: when all members have come to operation k, none looks at what was
// posted for k-1 any more.
struct pli_board_member {
    struct pli_board_slot slot[2];
    _Alignas(128) _Atomic uint64_t read; // entries of the ring this member is done with
    _Atomic uint64_t posts_read;         // operations with postings that it is done with
    uint64_t proc;                       // its process
    _Atomic uint32_t stage;              // enum pli_board_stage
    uint32_t group;                      // where it counts itself in
    _Atomic uint64_t leads;              // the last meeting that it ends for all
};
_Static_assert(sizeof(struct pli_board_member) == 384, "shared with other processes");

// Members that count themselves in together (board_group.h); the last of them counts the group.
struct pli_board_group {
    _Alignas(128) _Atomic uint64_t arrived;
};

struct pli_board_wire {
    _Alignas(128) _Atomic uint64_t n_left;  // members that have no more use for it
    _Atomic uint64_t n_done;                // of those, how many have given back their own pieces
    _Alignas(128) _Atomic uint64_t arrived; // members, or groups of them
    struct pli_board_group groups[PLI_BOARD_N_GROUP];
    struct pli_board_slot result;
    struct pli_board_slot ring[PLI_BOARD_RING]; // broadcasts
    struct pli_board_member members[]; // then PLI_BOARD_POSTS slots of each, where there are few
};
_Static_assert(sizeof(struct pli_board_wire) == (3 + PLI_BOARD_N_GROUP + PLI_BOARD_RING) * 128,
               "shared");

#endif
