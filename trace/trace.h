// SPDX-License-Identifier: BSD-3-Clause
// What the wrappers of --profile and --timeline call around each MPI call.
#ifndef PLI_TRACE_H
#define PLI_TRACE_H

#include "glue/observe.h"
#include "trace/trace_wire.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PLI_TRACE_FN(name, text, kind) PLI_TRACE_FN_##name,
enum pli_trace_fn {
#include "trace/functions.def"
    PLI_TRACE_N_FN
};
#undef PLI_TRACE_FN
#define PLI_TRACE_FN(name, text, kind)
#define PLI_TRACE_SYM(name, text) PLI_TRACE_SYM_##name,
enum pli_trace_sym {
#include "trace/functions.def"
    PLI_TRACE_N_SYM
};
#undef PLI_TRACE_FN
#undef PLI_TRACE_SYM

enum pli_trace_class {
    PLI_TRACE_SEND,
    PLI_TRACE_RECV,
    PLI_TRACE_BOTH,
    PLI_TRACE_PROBE,
    PLI_TRACE_WAIT,
    PLI_TRACE_COLL,
    PLI_TRACE_RMA,
    PLI_TRACE_IO,
    PLI_TRACE_LIFE,
    PLI_TRACE_WORLD,
    PLI_TRACE_OTHER
};

// Functions of which short calls may be sampled; the others have none.
enum pli_trace_kind {
    PLI_TRACE_KIND_NONE,
    PLI_TRACE_KIND_Send,
    PLI_TRACE_KIND_Recv,
    PLI_TRACE_KIND_Isend,
    PLI_TRACE_KIND_Irecv,
    PLI_TRACE_KIND_Wait,
    PLI_TRACE_KIND_Waitall,
    PLI_TRACE_KIND_Test,
    PLI_TRACE_KIND_Bsend,
    PLI_TRACE_KIND_Ssend,
    PLI_TRACE_KIND_Rsend,
    PLI_TRACE_KIND_Ibsend,
    PLI_TRACE_KIND_Issend,
    PLI_TRACE_KIND_Irsend
};

enum { PLI_TRACE_N_COMM = 16, PLI_TRACE_N_TYPE = 16, PLI_TRACE_N_REQUEST = 4096 };

// A communicator that the thread has used.
struct pli_trace_comm {
    MPI_Comm handle;
    uint32_t generation;
    uint32_t n_coll; // collectives that were begun on it
    struct pli_observe_comm it;
};

struct pli_trace_type {
    MPI_Datatype handle;
    uint32_t generation;
    uint32_t size;
};

// A request that is under way, by its handle.
struct pli_trace_request {
    MPI_Request handle;
    MPI_Comm comm;
    uint32_t serial;
    uint32_t peer;
    uint16_t peer_ep, function;
    uint8_t flags;
    bool is_persistent;
    int32_t tag;
    uint32_t number;
    uint64_t bytes, context;
    uint32_t sampled; // serial of the entry of sampled calls that posted it, 0: none
};

// Why a thread's calls are not recorded: it is inside of one already, because a callback of the
// program calls MPI; MPI_Pcontrol(0) asked for it. Above these the address of the entry of a call
// that is not timed: one word, because it is looked at for each small message.
enum { PLI_TRACE_INSIDE = 1, PLI_TRACE_PAUSED = 2, PLI_TRACE_FLAGS = 3 };

struct pli_trace_thread {
    struct pli_trace_slot *slot;
    struct pli_trace_sampled *sampled; // the slot's
    uintptr_t closed;                  // 0, or as above
    uint64_t looked;            // when there were many looks in vain in this call, 0: not yet
    uintptr_t look_entry;       // the call, and how many calls its entry had left, in which
    uint32_t look_left, n_look; // there were so many looks in vain
    uint32_t random;
    struct pli_trace_event *ring; // NULL: no timeline
    uint64_t mask;
    struct pli_trace_thread *next; // of the process
    uint32_t n_serial, n_sampled;
    uint32_t n_phase; // that have begun
    struct {
        uint32_t number;
        uint64_t begin, ticks_mpi;
    } phases[PLI_TRACE_DEPTH];
    struct pli_trace_comm comms[PLI_TRACE_N_COMM];
    struct pli_trace_type types[PLI_TRACE_N_TYPE];
    struct pli_trace_request requests[PLI_TRACE_N_REQUEST];
};

struct pli_trace_args {
    enum pli_trace_fn function;
    const void *site;
    MPI_Comm comm; // NULL: none
    MPI_Datatype datatype;
    MPI_Count count;
    int peer, tag;
    MPI_Request request;
    const MPI_Status *status;
    bool has_peer, is_idle, is_persistent, is_change;
    enum pli_trace_kind kind; // if it may be sampled
    bool is_wait;             // and the time is spent waiting for the peer
};

#define PLI_TRACE_HIDDEN __attribute__((visibility("hidden")))
extern void *pli_trace_next[PLI_TRACE_N_SYM] PLI_TRACE_HIDDEN; // what MPI_X leads to
// What it is for programs of other ABIs.
extern void *pli_trace_next_std[PLI_TRACE_N_SYM] PLI_TRACE_HIDDEN;
extern const uint8_t pli_trace_classes[PLI_TRACE_N_FN] PLI_TRACE_HIDDEN;
extern __thread struct pli_trace_thread *pli_trace_self __attribute__((tls_model("initial-exec")))
PLI_TRACE_HIDDEN;
// The same in a program of another ABI, whose calls are recorded where our library of that ABI
// calls MPI, and the line that the program called it from.
struct pli_trace_std {
    struct pli_trace_thread *self;
    void *outer;
};
extern __thread struct pli_trace_std pli_trace_std __attribute__((tls_model("initial-exec")))
PLI_TRACE_HIDDEN;
extern bool pli_trace_is_foreign PLI_TRACE_HIDDEN; // the program is one
extern bool pli_trace_is_counter PLI_TRACE_HIDDEN;
// Where the Fortran library is.
extern uintptr_t pli_trace_fortran PLI_TRACE_HIDDEN, pli_trace_fortran_end PLI_TRACE_HIDDEN;
// Counts what makes handles mean something else.
extern _Atomic uint32_t pli_trace_generation PLI_TRACE_HIDDEN;

static inline uint64_t pli_trace_ticks(void)
{
#if defined __aarch64__
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
#if defined __x86_64__
    if (pli_trace_is_counter) {
        return __builtin_ia32_rdtsc();
    }
#endif
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

// The slow way in: the first call of a thread.
struct pli_trace_thread *pli_trace_attach(void *site, bool is_std);

// Calls of the Fortran library are those of its caller: its functions keep their frames.
static inline bool pli_trace_is_fortran(const void *site)
{
    return (uintptr_t)site - pli_trace_fortran < pli_trace_fortran_end;
}

static inline void *pli_trace_leave_fortran(void *site, void *frame)
{
    while (__builtin_expect(pli_trace_is_fortran(site), 0)) {
        frame = *(void **)frame; // two of them where an array section is handed on
        site = ((void **)frame)[1];
    }
    return site;
}

// NULL: this call is not recorded.
static inline struct pli_trace_thread *pli_trace_enter(void **site, void *frame)
{
    struct pli_trace_thread *self = pli_trace_self;
    if (__builtin_expect(self == NULL, 0)) {
        if (pli_trace_is_foreign) {
            pli_trace_std.outer = *site;
            return NULL;
        }
        self = pli_trace_attach(*site, false);
        if (self == NULL) {
            return NULL;
        }
    }
    if (__builtin_expect(self->closed != 0, 0)) {
        return NULL;
    }
    *site = pli_trace_leave_fortran(*site, frame);
    return self;
}

static inline struct pli_trace_thread *pli_trace_enter_sampled(void **site, void *frame)
{
    *site = pli_trace_leave_fortran(*site, frame);
    return pli_trace_self;
}

// The thread of a call of our library of another ABI, NULL: it has not called yet; and the line in
// the program.
static inline struct pli_trace_thread *pli_trace_enter_sampled_std(void **site)
{
    if (pli_trace_std.outer != NULL) {
        *site = pli_trace_std.outer;
        pli_trace_std.outer = NULL;
    }
    return pli_trace_std.self;
}

static inline struct pli_trace_thread *pli_trace_enter_std(void **site, void *frame)
{
    (void)frame;
    struct pli_trace_thread *self = pli_trace_enter_sampled_std(site);
    self = self != NULL ? self : pli_trace_attach(*site, true);
    return self == NULL || self->closed != 0 ? NULL : self;
}

static inline uint64_t pli_trace_begin(struct pli_trace_thread *self, enum pli_trace_fn function)
{
    self->closed = PLI_TRACE_INSIDE;
    uint64_t now = pli_trace_ticks();
    self->slot->in_function = function;
    self->slot->in_call = now;
    return now;
}

// When a call began, as far as it counts: the rank may have been restored from an image meanwhile,
// where the counter may be another one.
static inline uint64_t pli_trace_since(const struct pli_trace_thread *self, uint64_t begin,
                                       uint64_t end)
{
    return begin < self->slot->begin || begin > end ? self->slot->begin : begin;
}

void pli_trace_end(struct pli_trace_thread *self, uint64_t begin, const struct pli_trace_args *a,
                   int err);

// For the calls that are written by hand. The entry of a call site; the peers of a request that
// became complete; one event.
struct pli_trace_site *pli_trace_count(struct pli_trace_thread *self, enum pli_trace_fn function,
                                       const void *site, uint64_t begin, uint64_t end);
struct pli_trace_request *pli_trace_find(struct pli_trace_thread *self, MPI_Request handle);
void pli_trace_forget(struct pli_trace_thread *self, struct pli_trace_request *r);
// Who sent what the request received, and that so many ticks were spent waiting for it.
void pli_trace_blame(struct pli_trace_thread *self, struct pli_trace_request *r,
                     const MPI_Status *status, uint64_t ticks);
void pli_trace_put(struct pli_trace_thread *self, const struct pli_trace_event *e);
// The number of a peer's entry, PLI_TRACE_N_PEER: there is none.
uint16_t pli_trace_peer_number(struct pli_trace_thread *self, uint32_t index, uint32_t ep);
// Follow a request that a call has posted; sampled: the serial of the call's entry.
void pli_trace_keep(struct pli_trace_thread *self, const struct pli_trace_args *a,
                    uint32_t sampled);

// Handles may mean something else from now on, to other threads as well. freed: this type goes, and
// the next one may get its handle; of the calls of self only those with it are concerned.
void pli_trace_change(const struct pli_trace_thread *self, MPI_Datatype freed);

static inline uint32_t pli_trace_hash(uint64_t v)
{
    return (uint32_t)((v * 0x9e3779b97f4a7c15u) >> 40);
}

// Where a request is looked for first.
static inline struct pli_trace_request *pli_trace_request_at(struct pli_trace_thread *self,
                                                             MPI_Request handle)
{
    return &self->requests[pli_trace_hash((uintptr_t)handle) % PLI_TRACE_N_REQUEST];
}

static inline uint8_t pli_trace_bin(uint64_t bytes)
{
    uint32_t bin = bytes == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(bytes);
    return (uint8_t)(bin < PLI_TRACE_N_BIN ? bin : PLI_TRACE_N_BIN - 1);
}

#endif
