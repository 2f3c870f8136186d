// SPDX-License-Identifier: BSD-3-Clause
// The state of the UPC runtime: the process, its threads, and what lies in the segments, which
// other processes see.
#ifndef PLI_UPC_RT_H
#define PLI_UPC_RT_H

#define PLI_UPC_RUNTIME 1
#define PLI_UPC_LIBRARY 1
#include "pli_upc_ptr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;
struct pli_lane;
struct pli_node;
struct pli_region;
struct pli_request;
struct pli_shm_mailbox;
struct rt_file;

enum {
    RT_PAGE = 65536,  // of all alignments
    RT_FIRST = 65536, // offsets below belong to nothing: a null pointer faults
    RT_N_BIN = 60,    // sizes of free pieces in a heap
    RT_SCRATCH = 32   // a partial result
};

// A heap inside a segment; all offsets count from the segment's start. Guarded by lock.
struct rt_heap {
    _Atomic uint32_t lock; // thread + 1 of the holder
    uint32_t n_live;
    uint64_t top;           // end of what is in use; 0: nothing ever was
    uint64_t high;          // end of what has memory behind it
    uint64_t used;          // bytes handed out, with their headers
    uint64_t bin[RT_N_BIN]; // offsets of the first free piece of each size
    uint64_t last;          // the piece before top, to join with
};

// At the end of each thread's segment.
struct rt_page {
    _Alignas(128) _Atomic uint64_t slot[2]; // barriers: my word for even and odd phases
    _Alignas(128) unsigned char scratch[2][RT_SCRATCH];
    _Alignas(128) struct rt_heap own; // upc_alloc of this thread
    // Of thread 0's only:
    _Alignas(128) _Atomic uint64_t arrived;
    _Alignas(128) _Atomic uint64_t result[2];
    uint64_t made[2];                 // what a collective allocation gave
    _Alignas(128) struct rt_heap sym; // symmetric: headers are here, the space is at all threads
    _Atomic int64_t grown;            // bytes of segments in use on this host
};

// The process.
struct rt {
    int n;             // THREADS
    int first, n_here; // threads of this process
    char *seg[PLI_UPC_MAX_THREADS];
    struct rt_page *page[PLI_UPC_MAX_THREADS]; // NULL: far
    struct pli_shm_mailbox *box[PLI_UPC_MAX_THREADS];
    struct {
        uint32_t host, proc;
    } place[PLI_UPC_MAX_THREADS];
    bool has_far, is_pthreads;
    bool is_flat;      // barriers: each thread looks at all words
    uint64_t span;     // of one segment
    uint64_t sym_base; // where the symmetric heap begins, behind the static objects
    uint64_t own_base; // where the heap of the thread itself begins
    uint64_t page_at;  // where struct rt_page is
    uint64_t limit;    // of one thread's shared memory; 0: none
    int64_t memory;    // of the host
    int group, n_group;
    bool is_funneled;          // fewer ranks than threads: only the first threads have one
    int n_rank;                // of the group
    bool is_joined;            // some process of the job may have several threads
    uint32_t each;             // threads of a process, of which mpiexec knows each; 0: it does not
    struct rt_thread *threads; // n_here
};
extern struct rt pli_rt;

// A UPC thread.
struct rt_thread {
    int me;
    struct pli_comm *comm; // of all threads
    struct pli_lane *lane;
    struct pli_region *region; // NULL while nothing is far
    uint64_t phase;            // barriers so far
    bool is_notified;
    bool is_left;                // at the final barrier
    _Atomic uint64_t release[2]; // far: what thread 0 told
    uint64_t (*far_slot)[2];     // far, thread 0: what the others told
    uint32_t far_count[2];       // and how many have
    _Atomic bool may_try;        // the far lock that this thread is queued for was dropped
    unsigned n_reduce;           // for the turn of scratch
    struct pli_request **async;  // implicit transfers under way
    size_t n_async, cap_async;
    size_t n_async_before; // of these, those begun before the access region
    bool is_accessregion;
    pli_upc_pts value_at; // where collectives on values put them, at each thread: twice value_cap
    size_t value_cap;     // bytes
    unsigned value_turn;
    uint64_t n_lock;         // locks held
    struct rt_prefetch *far; // far data that was read ahead; NULL: none ever was
    struct rt_file *files;   // open ones
};

extern _Thread_local struct rt_thread *pli_rt_self;

// The calling UPC thread. A thread that the program itself made counts as the process's first.
static inline struct rt_thread *rt_me(void)
{
    struct rt_thread *t = pli_rt_self;
    return t != NULL ? t : pli_rt.threads;
}

static inline uint64_t rt_round(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

// Shared memory that is mapped here, or NULL.
static inline char *rt_near(pli_upc_pts p)
{
    char *seg = pli_rt.seg[pli_upc_threadof(p)];
    return seg != NULL ? seg + pli_upc_addrfield(p) : NULL;
}

// End the job with a message about this thread.
_Noreturn void pli_rt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
