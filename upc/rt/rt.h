// SPDX-License-Identifier: BSD-3-Clause
// Inside the UPC runtime. What is in the segments is seen by other processes.
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
struct pli_waiter;
struct rt_file;
struct rt_lock;

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
    _Alignas(128) struct rt_heap sym; // symmetric: headers are here, the space is everybody's
    _Atomic int64_t grown;            // bytes of segments in use on this host
};

// The process.
struct rt {
    int n;             // THREADS
    int first, n_here; // threads of this process
    char *seg[PLI_UPC_MAX_THREADS];
    struct rt_page *page[PLI_UPC_MAX_THREADS]; // NULL: far
    struct pli_shm_mailbox *box[PLI_UPC_MAX_THREADS];
    bool has_far, is_pthreads;
    bool is_flat;      // barriers: everybody looks at everybody
    uint64_t span;     // of one segment
    uint64_t sym_base; // where the symmetric heap begins, behind the static objects
    uint64_t own_base; // where the heap of the thread itself begins
    uint64_t page_at;  // where struct rt_page is
    uint64_t limit;    // of one thread's shared memory; 0: none
    int64_t memory;    // of the host
    int group, n_group;
    bool is_funneled;          // fewer ranks than threads: only the first threads have one
    int n_rank;                // of the group
    uint32_t n_proc;           // of the group
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
    unsigned n_reduce;           // for the turn of scratch
    struct pli_request **async;  // implicit transfers under way
    size_t n_async, cap_async;
    uint64_t n_lock;       // locks held
    struct rt_file *files; // open ones
};

extern _Thread_local struct rt_thread *pli_rt_self;

// The calling UPC thread. A thread that the program itself made speaks for the process's first.
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

// rt_start.c: end the job with a message about this thread.
_Noreturn void pli_rt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// rt_wait.c: waiting with progress. A waiter for the named call; then pli_progress_step and _end.
void pli_rt_waiter(struct pli_waiter *w, const char *call, bool is_restless);
void pli_rt_wake_all(void); // whoever of the near threads sleeps

// rt_barrier.c: a barrier of the runtime's own; what tells which collective operation it is for.
enum rt_what {
    RT_START,
    RT_FINAL,
    RT_ALL_ALLOC,
    RT_ALL_FREE,
    RT_ALL_LOCK_ALLOC,
    RT_ALL_LOCK_FREE,
    RT_DOMAIN_ALLOC,
    RT_DOMAIN_FREE,
    RT_BROADCAST,
    RT_SCATTER,
    RT_GATHER,
    RT_GATHER_ALL,
    RT_EXCHANGE,
    RT_PERMUTE,
    RT_REDUCE,
    RT_PREFIX_REDUCE,
    RT_FOPEN,
    RT_FCLOSE,
    RT_FSYNC,
    RT_FSEEK,
    RT_FSIZE,
    RT_FREAD,
    RT_FWRITE,
    RT_N_WHAT
};
void pli_rt_meet(enum rt_what what);
// Far: a word of thread t came, or thread 0 lets us go.
void pli_rt_far_notify(int t, uint64_t word);
void pli_rt_far_release(uint64_t word);

// rt_copy.c
void pli_rt_get(void *to, pli_upc_pts from, size_t n);
void pli_rt_put(pli_upc_pts to, const void *from, size_t n);

// rt_far.c: questions to other threads about heaps and locks.
enum rt_ask_kind {
    RT_ASK_ALLOC,
    RT_ASK_FREE,
    RT_ASK_LOCK,
    RT_ASK_UNLOCK,
    RT_TELL_NOTIFY,
    RT_TELL_RELEASE
};
struct rt_ask {
    uint32_t kind;
    int32_t from;
    uint64_t value;
};
uint64_t pli_rt_ask(int to, enum rt_ask_kind kind, uint64_t value);
void pli_rt_tell(int to, enum rt_ask_kind kind, uint64_t value);
size_t pli_rt_answer(void *arg, int origin, const void *ask, size_t len, void *answer);

// rt_heap.c: the space at `base` of the segment `seg`, managed by *h. 0: no room.
struct rt_space {
    struct rt_heap *h;
    char *seg;
    uint64_t base, end;
    bool is_sym;
};
uint64_t pli_rt_heap_take(const struct rt_space *s, uint64_t bytes, int me);
// What is wrong with the pointer, or NULL when it was given back.
const char *pli_rt_heap_give(const struct rt_space *s, uint64_t at, int me);

// rt_alloc.c: on the thread that owns the heap. is_sym: the symmetric one.
uint64_t pli_rt_alloc_here(int owner, bool is_sym, uint64_t bytes);
const char *pli_rt_free_here(int owner, uint64_t at);

// rt_lock.c: at the thread that has the lock in its segment.
bool pli_rt_lock_try(struct rt_lock *l, int who);
const char *pli_rt_lock_drop(struct rt_lock *l, int who);

#endif
