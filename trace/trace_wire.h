// SPDX-License-Identifier: BSD-3-Clause
// What --profile and --timeline record: memory that mpiexec makes on each host, that ranks inherit
// and write, and that is read when the job is over. Every thread that calls MPI has its own slot.
#ifndef PLI_TRACE_WIRE_H
#define PLI_TRACE_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

#define PLI_TRACE_MAGIC 0x65636172742d6c70u

enum {
    PLI_TRACE_VERSION = 5,
    PLI_TRACE_N_SLOT = 4096, // threads of one host
    PLI_TRACE_N_SITE = 1024, // call sites of a thread
    PLI_TRACE_N_PEER = 1024,
    PLI_TRACE_N_MODULE = 32,
    PLI_TRACE_PATH = 256,
    PLI_TRACE_N_BIN = 48, // sizes of messages, by powers of two
    PLI_TRACE_N_PHASE = 62,
    PLI_TRACE_NAME = 48,
    PLI_TRACE_DEPTH = 16, // of phases
    PLI_TRACE_N_SAMPLED = 128
};

// flags of the memory
enum { PLI_TRACE_PROFILE = 1, PLI_TRACE_TIMELINE = 2, PLI_TRACE_COUNTER = 4 };

#define PLI_TRACE_NOBODY UINT32_MAX

struct pli_trace_header {
    uint64_t magic;
    uint32_t version, flags;
    uint32_t n_slot, n_event; // of a slot; a power of two, 0: no events
    uint64_t slot_bytes, slots_at;
    uint64_t ticks, ns;      // the counter and the clock, when the memory was made
    _Atomic uint32_t n_used; // slots; more than n_slot: the others recorded nothing
    uint32_t pad;
};

struct pli_trace_module {
    char path[PLI_TRACE_PATH];
};

// A place in the program from which MPI was called; address 0: a free entry. The last entry
// counts the calls from places that found no entry.
struct pli_trace_site {
    uint64_t address;
    uint64_t place; // as addr2line wants it
    uint32_t module;
    uint16_t function, pad;
    uint64_t n, ticks, longest, bytes;
};

struct pli_trace_peer {
    uint32_t index, ep; // PLI_TRACE_NOBODY: a free entry
    uint64_t n_sent, bytes_sent, ticks_waited;
};

// Short calls that follow each other quickly, from one place with the same arguments: one in
// limit + 1 is timed, the others are counted, and taken to be like the one that was timed.
struct pli_trace_sampled {
    _Atomic uint64_t key; // of place and function; 0: no call has this entry
    uint64_t comm, datatype;
    uint64_t amount;  // count and peer
    uint64_t address; // of the place
    uint32_t n_left;  // calls before the next one that is timed
    uint32_t n_added; // how many were left when those before were added to their place
    uint32_t serial;  // which use of the entry this is
    uint32_t n_short; // calls in a row that were short, while all are timed
    uint32_t limit, more_pad;
    uint64_t timed;      // when the last one was timed
    uint64_t ticks_each; // what each took, as far as is known
    uint64_t bytes_each;
    uint16_t site;       // its number
    uint16_t peer_entry; // its number, PLI_TRACE_N_PEER: none
    uint8_t bin;         // PLI_TRACE_N_BIN: no messages are sent
    uint8_t is_wait;     // the time is spent waiting for the peer
    uint8_t pad[34];
};
_Static_assert(sizeof(struct pli_trace_sampled) == 128, "one lies in two cache lines");

struct pli_trace_phase {
    char name[PLI_TRACE_NAME];
    uint64_t n, ticks, ticks_mpi;
};

enum {
    PLI_TRACE_EVENT_CALL,     // an MPI call
    PLI_TRACE_EVENT_COMPLETE, // a request became complete in the call that ended with it
    PLI_TRACE_EVENT_PHASE,    // a phase of the program: site is its number
    PLI_TRACE_EVENT_MARK,     // MPI_Pcontrol: tag is the level
    PLI_TRACE_N_EVENT_KIND
};
enum { PLI_TRACE_POSTED = 1, PLI_TRACE_IS_SEND = 2, PLI_TRACE_IS_RECV = 4, PLI_TRACE_IS_BOTH = 8 };

struct pli_trace_event {
    uint64_t begin, end;
    uint16_t function;
    uint8_t kind, flags;
    uint16_t site, source_ep;
    uint32_t peer;
    uint16_t peer_ep, ep;
    int32_t tag;
    uint32_t number;  // of a collective on its communicator
    uint32_t request; // serial number of the request that was posted or completed, 0: none
    uint32_t source;  // of a call that sends and receives: whom it received from
    uint64_t bytes, context;
};
_Static_assert(sizeof(struct pli_trace_event) == 64, "events have one layout");

struct pli_trace_slot {
    _Atomic uint32_t is_used;
    uint32_t pid, tid;
    uint32_t index, ep;         // of the process in the job; which endpoint of it
    uint32_t world, rank, size; // index of the first process of its world, its rank there
    uint32_t n_phase, n_module;
    uint64_t begin, end;      // of the part between MPI_Init and MPI_Finalize; end 0: not reached
    _Atomic uint64_t n_event; // events that were recorded; the ring has the last n_event of them
    uint64_t in_call;         // since when, 0: in no call
    uint64_t last;            // when the last call ended
    uint32_t in_function, in_site;
    uint64_t ticks_mpi, ticks_waited;
    uint64_t bins[PLI_TRACE_N_BIN]; // messages sent, by size: 0, 1, 2-3, 4-7, ...
    struct pli_trace_module modules[PLI_TRACE_N_MODULE];
    struct pli_trace_phase phases[PLI_TRACE_N_PHASE];
    struct pli_trace_site sites[PLI_TRACE_N_SITE];
    struct pli_trace_peer peers[PLI_TRACE_N_PEER];
    _Alignas(64) struct pli_trace_sampled sampled[PLI_TRACE_N_SAMPLED];
};

static inline uint32_t pli_trace_n_sampled(const struct pli_trace_sampled *q)
{
    return q->n_added - q->n_left;
}

// Add the calls that were only counted to those of their place. The numbers in the entry are good.
static inline void pli_trace_add_sampled(struct pli_trace_slot *s, struct pli_trace_sampled *q)
{
    uint64_t n = pli_trace_n_sampled(q), ticks = n * q->ticks_each;
    if (n == 0) {
        return;
    }
    struct pli_trace_site *site = &s->sites[q->site];
    site->n += n;
    site->ticks += ticks;
    site->bytes += n * q->bytes_each;
    s->ticks_mpi += ticks;
    s->ticks_waited += q->is_wait ? ticks : 0;
    if (q->bin < PLI_TRACE_N_BIN) {
        s->bins[q->bin] += n;
    }
    if (q->peer_entry < PLI_TRACE_N_PEER) {
        struct pli_trace_peer *p = &s->peers[q->peer_entry];
        p->ticks_waited += q->is_wait ? ticks : 0;
        p->n_sent += q->bin < PLI_TRACE_N_BIN ? n : 0;
        p->bytes_sent += q->bin < PLI_TRACE_N_BIN ? n * q->bytes_each : 0;
    }
    q->n_added = q->n_left;
}

static inline uint64_t pli_trace_slot_bytes(uint32_t n_event)
{
    uint64_t n = sizeof(struct pli_trace_slot) + (uint64_t)n_event * sizeof(struct pli_trace_event);
    return (n + 65535) / 65536 * 65536;
}

#endif
