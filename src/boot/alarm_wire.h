// SPDX-License-Identifier: BSD-3-Clause
// Bad news, in the node memory: which communicators were revoked, and where the members of one
// agree. A mark is found by its context, which no other communicator ever has, and is never taken
// back. That a process died is in its row.
#ifndef PLI_BOOT_ALARM_WIRE_H
#define PLI_BOOT_ALARM_WIRE_H

#include "boot/node_wire.h"

#include <stdatomic.h>
#include <stdint.h>

enum { PLI_ALARM_N_MARK = 2048 }; // a power of two

struct pli_alarm_mark {
    _Atomic uint64_t context;    // 0: free
    _Atomic uint64_t pact;       // offset of what its members agree by, 0: they never did
    _Atomic uint32_t is_revoked; // operations on it fail
    uint32_t spare[3];
};
_Static_assert(sizeof(struct pli_alarm_mark) == 32, "shared with other processes");

struct pli_alarm_table {
    struct pli_alarm_mark marks[PLI_ALARM_N_MARK];
};

// How a process died: what in the upper byte, its number in the lower.
enum pli_alarm_fault {
    PLI_ALARM_SIGNAL = 1 << 8, // of this number
    PLI_ALARM_EXIT = 2 << 8,   // with this status, and without MPI_Finalize
    PLI_ALARM_LOST = 3 << 8,   // nobody knows how
    PLI_ALARM_NUMBER = 0xff
};

// One member's part in an agreement. Written before seq says so.
struct pli_alarm_vote {
    _Atomic uint32_t seq;     // of the agreement it has come to
    _Atomic uint32_t value;   // what it wants
    _Atomic uint32_t n_acked; // failures it has acknowledged
    uint32_t spare;
    _Atomic uint64_t context[2]; // that it made for a new communicator; agreements in turn
};
_Static_assert(sizeof(struct pli_alarm_vote) == 32, "shared with other processes");

#define PLI_ALARM_DIRTY ((uint64_t)1 << 32) // somebody had not acknowledged a failure

struct pli_alarm_pact {
    // Of the last agreement: its seq << 33, PLI_ALARM_DIRTY, and what was agreed in 32 bits.
    _Atomic uint64_t result;
    uint64_t spare[7];
    struct pli_alarm_vote votes[]; // by rank
};
_Static_assert(sizeof(struct pli_alarm_pact) == 64, "shared with other processes");

static inline struct pli_alarm_table *pli_alarm_table(struct pli_node_header *h)
{
    return (struct pli_alarm_table *)((char *)h + h->alarms);
}

#endif
