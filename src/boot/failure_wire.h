// SPDX-License-Identifier: BSD-3-Clause
// News of failures, in the node memory: which communicators were revoked, and where the members of
// one agree. A mark is found by its context, which no other communicator ever has, and goes when
// all members have left the communicator or are gone. That a process died is in the table of
// processes.
#ifndef PLI_BOOT_FAILURE_WIRE_H
#define PLI_BOOT_FAILURE_WIRE_H

#include "boot/node_wire.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_FAILURE_N_MARK = 2048, // a power of two
    PLI_FAILURE_AHEAD = 4,     // agreements of one communicator that can be under way at a time
    PLI_FAILURE_N_VOTE = 2 * PLI_FAILURE_AHEAD
};

// What stands in a mark's place where there is none. No context is 1: its low bits are the channel.
enum pli_failure_place { PLI_FAILURE_FREE, PLI_FAILURE_WAS };

struct pli_failure_mark {
    _Atomic uint64_t context;    // written last, and cleared first; or enum pli_failure_place
    _Atomic uint64_t agreement;  // offset of what its members agree by
    _Atomic uint32_t is_revoked; // operations on it fail
    uint32_t spare[3];
};
_Static_assert(sizeof(struct pli_failure_mark) == 32, "shared with other processes");

// Marks are found without a lock, made and cleared with it.
struct pli_failure_table {
    _Atomic uint32_t owner; // of the lock: its row + 1; 0: none
    uint32_t n_mark;        // places that are not free; guarded by the lock
    uint64_t spare[7];
    struct pli_failure_mark marks[PLI_FAILURE_N_MARK];
    // Of those with members on several hosts: the revoked ones, by context, as the marks are. The
    // launcher alone writes it.
    _Atomic uint64_t revoked[PLI_FAILURE_N_MARK];
};

// How a process died: what in the upper byte, its number in the lower.
enum pli_failure_fault {
    PLI_FAILURE_SIGNAL = 1 << 8, // of this number
    PLI_FAILURE_EXIT = 2 << 8,   // with this status, and without MPI_Finalize
    PLI_FAILURE_LOST = 3 << 8,   // the cause is not known
    PLI_FAILURE_HOST = 4 << 8,   // with its host, which is out of reach
    PLI_FAILURE_ABORT = 5 << 8,  // by MPI_Abort, with this code, on a communicator it belonged to
    PLI_FAILURE_NUMBER = 0xff
};

// One member's part in an agreement. Written before seq says so.
struct pli_failure_vote {
    _Atomic uint32_t seq;     // of the agreement it has come to
    _Atomic uint32_t value;   // what it wants
    _Atomic uint32_t n_acked; // failures it has acknowledged
    uint32_t spare;
    _Atomic uint64_t context[2]; // that it made for a new communicator, and for its local group
};
_Static_assert(sizeof(struct pli_failure_vote) == 32, "shared with other processes");

struct pli_failure_member {
    uint64_t proc;
    _Atomic uint32_t has_left; // it has freed the communicator; guarded by the table's lock
    uint32_t spare[5];
    // Those of agreement n are at n modulo their number. A member votes for n when it has the
    // result of n - PLI_FAILURE_AHEAD; so when it votes for n, all have that of n -
    // PLI_FAILURE_N_VOTE.
    struct pli_failure_vote votes[PLI_FAILURE_N_VOTE];
};
_Static_assert(sizeof(struct pli_failure_member) == 32 + 32 * PLI_FAILURE_N_VOTE, "shared");

// What follows from the votes. Of an intracommunicator the first group alone counts.
struct pli_failure_outcome {
    uint32_t flags[2]; // the bitwise and, of each group
    uint32_t is_known; // all living processes have acknowledged all failed ones
    uint32_t spare;
    uint64_t context[2][2]; // that the first one of each group made
};
_Static_assert(sizeof(struct pli_failure_outcome) == 48, "goes from host to host");

struct pli_failure_agreement {
    // Of agreement n, at n modulo their number: n << 32, and up to which death members are left
    // out. The votes of the others tell the rest.
    _Atomic uint64_t results[PLI_FAILURE_AHEAD];
    _Atomic uint32_t is_over; // no process looks at it any more: its owner may take it back
    uint32_t n_member;
    uint32_t n_first; // of those, in the first group
    uint32_t is_wide; // they are on several hosts: the launcher writes results, and first, in turn,
    _Atomic uint32_t is_dropped; // and that no process has the communicator any more
    uint32_t spare[3];
    struct pli_failure_outcome
        outcomes[PLI_FAILURE_AHEAD];     // what follows from votes that are elsewhere
    struct pli_failure_member members[]; // by rank; of two groups the one with the smaller leader
                                         // first
};
_Static_assert(sizeof(struct pli_failure_agreement) == 256, "shared with other processes");

static inline uint32_t pli_failure_home(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) % PLI_FAILURE_N_MARK;
}

static inline struct pli_failure_table *pli_failure_table(struct pli_node_header *h)
{
    return (struct pli_failure_table *)((char *)h + h->failures);
}

// The mark of a communicator, NULL: it has none.
static inline struct pli_failure_mark *pli_failure_find(struct pli_node_header *h, uint64_t key)
{
    struct pli_failure_table *t = pli_failure_table(h);
    for (uint32_t i = pli_failure_home(key), n = 0; n < PLI_FAILURE_N_MARK; i++, n++) {
        struct pli_failure_mark *m = &t->marks[i % PLI_FAILURE_N_MARK];
        uint64_t now = atomic_load_explicit(&m->context, memory_order_acquire);
        if (now == key || now == PLI_FAILURE_FREE) {
            return now == key ? m : NULL;
        }
    }
    return NULL;
}

#endif
