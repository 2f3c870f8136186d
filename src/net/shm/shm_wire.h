// SPDX-License-Identifier: BSD-3-Clause
// What lies in the memory of one lane and is seen by other processes: a mailbox that many write
// and one reads, and an outbox of blocks that one writes and many read.
#ifndef PLI_NET_SHM_WIRE_H
#define PLI_NET_SHM_WIRE_H

#include "boot/node_wire.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_SHM_N_CELL = 1024,
    PLI_SHM_INLINE = 24,    // bytes of a message in its first cell,
    PLI_SHM_MORE = 60,      // in each cell that follows,
    PLI_SHM_CELLS_MAX = 264 // and at most in cells
};

// Messages use the first cells again and again, which lie in one page, as long as the reader keeps
// up: when it has read all that was claimed, and half of these are used, it moves the tail to the
// first cell. A writer that comes to their end uses the others, and so do all from then on. So the
// pages of the others cost nothing where few messages are under way at a time.
enum { PLI_SHM_FEW = 58 };

// One message in one cache line, and a few more bytes in the lines that follow: PLI_SHM_MORE in
// each, behind its seq. What does not fit there waits in a block of the sender.
struct pli_shm_cell {
    _Atomic uint32_t seq; // position + 1 once the cell is full. In one that follows: position, for
                          // which no reader waits
    uint8_t kind;         // enum of msg/msg_wire.h
    uint8_t form;         // of the data: enum pli_form of obj/datatype.h
    uint8_t flags;
    uint8_t src_lane;
    uint32_t src_proc; // index of the sending process; above it the number of its job here
    uint32_t dst_ep;
    uint64_t context;
    int32_t src_rank, tag;
    uint64_t size; // of the whole message, or of this piece
    union {
        unsigned char bytes[PLI_SHM_INLINE];
        uint64_t word[3];
    };
};
_Static_assert(sizeof(struct pli_shm_cell) == 64, "a cell is a cache line");

// Blocks come in classes, so that the few in use stay in the cache.
enum { PLI_SHM_N_CLASS = 3 };
#define PLI_SHM_CLASSES                                                                            \
    {                                                                                              \
        { 1024, 64 }, { 8192, 32 },                                                                \
        {                                                                                          \
            32768, 16                                                                              \
        }                                                                                          \
    }

// In front of each block's data. Taken by the owner, given back by the reader.
struct pli_shm_block {
    _Atomic uint32_t is_busy;
    uint32_t spare[15];
};
_Static_assert(sizeof(struct pli_shm_block) == 64, "data begins on a line of its own");

// 128: two lines, because processors fetch pairs.
struct pli_shm_mailbox {
    _Alignas(128) _Atomic uint64_t tail; // next position to claim; writers, and the reader of all
    _Alignas(128) _Atomic uint64_t head; // positions below are free again; reader
    _Atomic uint32_t is_whole;           // all cells are used
    // What the lane has sent and received so far, by any transport. Written by the reader alone.
    _Atomic uint64_t n_sent, sent_bytes, n_received, received_bytes;
    // Where the lane is about to write in a mailbox of another job: that job's reader looks here
    // when this process has died. far_claim is the mailbox's pli_shm_number, 0: nowhere.
    _Atomic uint64_t far_place; // the first position, below its cells, below the job's number
    _Atomic uint32_t far_claim;
    _Alignas(128) _Atomic int asleep; // enum pli_shm_sleep; a writer wakes the reader
    _Atomic int is_full;              // the reader holds too much: send nothing unasked
    _Atomic int needs_fence;          // the reader or a writer has no membarrier
    _Atomic int wakes;                // how often sleepers were woken: their futex
    uint32_t n_wake_name;             // bytes of the name of the reader's wake socket
    char wake_name[16];               // see PLI_SHM_BY_SOCKET
    uint64_t wake_key;                // what a datagram to it must hold
    uint32_t pid;                     // of the reader, and what is in its memory where, by
    uint64_t cookie, cookie_at;       // which it is known: peer_memory.h
    _Alignas(128) struct pli_shm_cell cells[PLI_SHM_N_CELL];
};
_Static_assert(sizeof(struct pli_shm_mailbox) <= 128 * 1024, "the outbox begins at 128 KiB");
_Static_assert(offsetof(struct pli_shm_mailbox, cells) +
                       PLI_SHM_FEW * sizeof(struct pli_shm_cell) <=
                   4096,
               "the first cells are in one page");

enum { PLI_SHM_OUTBOX = 128 * 1024 };

// In far_place: the number that the job has in the writer's own is above the number of cells.
enum { PLI_SHM_PLACE_JOB = 56, PLI_SHM_PLACE_CELLS = 48 };

// How the reader sleeps, if it does.
enum pli_shm_sleep {
    PLI_SHM_AWAKE = 0,
    PLI_SHM_BY_FUTEX = 1,  // on the number of wakes
    PLI_SHM_BY_SOCKET = 2, // on descriptors: a datagram with its key to its abstract address
    PLI_SHM_BY_EVENT = 3   // on descriptors: the eventfd that all processes of the host have
};

// The number of a mailbox of this host, never 0.
static inline uint32_t pli_shm_number(uint32_t row, int lane)
{
    return row * PLI_NODE_N_LANE + (uint32_t)lane + 1;
}

#endif
