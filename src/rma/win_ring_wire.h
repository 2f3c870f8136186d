// SPDX-License-Identifier: BSD-3-Clause
// The ring of accesses of one member of a window to another one, in the origin's arena.
#ifndef PLI_RMA_WIN_RING_WIRE_H
#define PLI_RMA_WIN_RING_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

enum { PLI_WIN_RING_ALIGN = 64 };

// A long run that both processes copy, piece by piece. What follows `next` is the same for all
// pieces of a run, and changes only when all of them are done.
struct pli_win_ring_job {
    // Pieces begun: bits 0 to 15; pieces in all: 16 to 31; number of the run: above. Changed in one
    // go, so that a piece is begun once, and of this run.
    _Atomic uint64_t next;
    _Atomic uint32_t n_done; // pieces
    _Atomic uint32_t has_failed;
    _Atomic int64_t at;                  // from the start of the target's memory, or an address
    _Atomic uint64_t here, bytes, piece; // here: an address at the origin; piece: bytes of each
    _Atomic uint32_t is_put;
};
enum { PLI_WIN_RING_PIECES = 0xffff };

struct pli_win_ring_wire {
    // Written by the process that takes accesses out, the target or the origin.
    _Alignas(128) _Atomic uint32_t is_taken; // it does
    _Atomic uint32_t n_heard;                // messages about the ring that the target has read
    _Atomic int32_t fault;                   // enum pli_err of an access that was refused
    _Atomic uint64_t tail;                   // accesses below are done
    // Written by the origin.
    _Alignas(128) _Atomic uint64_t head; // accesses below are written
    uint32_t origin;                     // its rank in the window
    uint32_t size;                       // bytes of data, a power of two
    struct pli_win_ring_job job;
    _Alignas(128) unsigned char data[];
};
_Static_assert(sizeof(struct pli_win_ring_wire) == 256, "shared with other processes");

enum pli_win_ring_kind { PLI_WIN_RING_PUT = 1, PLI_WIN_RING_GET, PLI_WIN_RING_SKIP };

// One access. Its data follows: of a get, once it is done. Positions count on for ever; an access
// does not go beyond the end of the ring.
struct pli_win_ring_entry {
    int64_t at;  // from the start of the target's memory, or an address
    uint64_t to; // of a get: an address at its origin
    uint32_t len;
    uint32_t kind; // enum pli_win_ring_kind
    unsigned char data[];
};
_Static_assert(sizeof(struct pli_win_ring_entry) == 24, "shared with other processes");

static inline struct pli_win_ring_entry *pli_win_ring_entry_at(struct pli_win_ring_wire *wire,
                                                               uint64_t position)
{
    return (struct pli_win_ring_entry *)(void *)(wire->data + (position & (wire->size - 1)));
}

static inline uint64_t pli_win_ring_bytes_of(uint32_t len)
{
    uint64_t all = sizeof(struct pli_win_ring_entry) + len;
    return (all + PLI_WIN_RING_ALIGN - 1) / PLI_WIN_RING_ALIGN * PLI_WIN_RING_ALIGN;
}

#endif
