// SPDX-License-Identifier: BSD-3-Clause
// Bad news, in the node memory: which communicators were revoked, and where the members of one
// agree. A mark is found by its context, which no other communicator ever has, and goes when all
// members have left the communicator or are gone. That a process died is in the table of processes.
#ifndef PLI_BOOT_FAILURE_WIRE_H
#define PLI_BOOT_FAILURE_WIRE_H

#include "boot/node_wire.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_ALARM_N_MARK = 2048, // a power of two
    PLI_ALARM_AHEAD = 4,     // agreements of one communicator that can be under way at a time
    PLI_ALARM_N_VOTE = 2 * PLI_ALARM_AHEAD
};

// What stands in a mark's place where there is none. No context is 1: its low bits are the channel.
enum pli_alarm_place { PLI_ALARM_FREE, PLI_ALARM_WAS };

struct pli_alarm_mark {
    _Atomic uint64_t context;    // written last, and cleared first; or enum pli_alarm_place
    _Atomic uint64_t pact;       // offset of what its members agree by
    _Atomic uint32_t is_revoked; // operations on it fail
    uint32_t spare[3];
};
_Static_assert(sizeof(struct pli_alarm_mark) == 32, "shared with other processes");

// Marks are found without a lock, made and cleared with it.
struct pli_alarm_table {
    _Atomic uint32_t owner; // of the lock: its row + 1; 0: nobody
    uint32_t n_mark;        // places that are not free; guarded by the lock
    uint64_t spare[7];
    struct pli_alarm_mark marks[PLI_ALARM_N_MARK];
    // Of those with members on several hosts: the revoked ones, by context, as the marks are. The
    // launcher alone writes it.
    _Atomic uint64_t revoked[PLI_ALARM_N_MARK];
};

// How a process died: what in the upper byte, its number in the lower.
enum pli_alarm_fault {
    PLI_ALARM_SIGNAL = 1 << 8, // of this number
    PLI_ALARM_EXIT = 2 << 8,   // with this status, and without MPI_Finalize
    PLI_ALARM_LOST = 3 << 8,   // nobody knows how
    PLI_ALARM_HOST = 4 << 8,   // with its host, which is out of reach
    PLI_ALARM_ABORT = 5 << 8,  // by MPI_Abort, with this code, on a communicator it belonged to
    PLI_ALARM_NUMBER = 0xff
};

// One member's part in an agreement. Written before seq says so.
struct pli_alarm_vote {
    _Atomic uint32_t seq;     // of the agreement it has come to
    _Atomic uint32_t value;   // what it wants
    _Atomic uint32_t n_acked; // failures it has acknowledged
    uint32_t spare;
    _Atomic uint64_t context[2]; // that it made for a new communicator, and for its local group
};
_Static_assert(sizeof(struct pli_alarm_vote) == 32, "shared with other processes");

struct pli_alarm_member {
    uint64_t proc;
    _Atomic uint32_t has_left; // it has freed the communicator; guarded by the table's lock
    uint32_t spare[5];
    // Those of agreement n are at n modulo their number. A member votes for n when it has the
    // result of n - PLI_ALARM_AHEAD; so when it votes for n, all have that of n - PLI_ALARM_N_VOTE.
    struct pli_alarm_vote votes[PLI_ALARM_N_VOTE];
};
_Static_assert(sizeof(struct pli_alarm_member) == 32 + 32 * PLI_ALARM_N_VOTE, "shared");

// What follows from the votes. Of an intracommunicator the first group alone counts.
struct pli_alarm_outcome {
    uint32_t flags[2]; // the bitwise and, of each group
    uint32_t is_known; // all who live have acknowledged all who died
    uint32_t spare;
    uint64_t context[2][2]; // that the first one of each group made
};
_Static_assert(sizeof(struct pli_alarm_outcome) == 48, "goes from host to host");

struct pli_alarm_pact {
    // Of agreement n, at n modulo their number: n << 32, and up to which death members are left
    // out. The votes of the others tell the rest.
    _Atomic uint64_t results[PLI_ALARM_AHEAD];
    _Atomic uint32_t is_over; // nobody looks at it any more: its owner may take it back
    uint32_t n_member;
    uint32_t n_first; // of those, in the first group
    uint32_t is_wide; // they are on several hosts: the launcher writes results, and first, in turn,
    _Atomic uint32_t is_dropped; // and that nobody has the communicator any more
    uint32_t spare[3];
    struct pli_alarm_outcome
        outcomes[PLI_ALARM_AHEAD];     // what follows from votes that are elsewhere
    struct pli_alarm_member members[]; // by rank; of two groups the one with the smaller leader
                                       // first
};
_Static_assert(sizeof(struct pli_alarm_pact) == 256, "shared with other processes");

static inline uint32_t pli_alarm_home(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) % PLI_ALARM_N_MARK;
}

static inline struct pli_alarm_table *pli_alarm_table(struct pli_node_header *h)
{
    return (struct pli_alarm_table *)((char *)h + h->alarms);
}

// The mark of a communicator, NULL: it has none.
static inline struct pli_alarm_mark *pli_alarm_find(struct pli_node_header *h, uint64_t key)
{
    struct pli_alarm_table *t = pli_alarm_table(h);
    for (uint32_t i = pli_alarm_home(key), n = 0; n < PLI_ALARM_N_MARK; i++, n++) {
        struct pli_alarm_mark *m = &t->marks[i % PLI_ALARM_N_MARK];
        uint64_t now = atomic_load_explicit(&m->context, memory_order_acquire);
        if (now == key || now == PLI_ALARM_FREE) {
            return now == key ? m : NULL;
        }
    }
    return NULL;
}

#endif
