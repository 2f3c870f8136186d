// SPDX-License-Identifier: BSD-3-Clause
// Short calls that follow each other quickly, of which --profile times one in 512: reading the
// processor's counter takes longer than all else that is done for a call. All are counted, and one
// that has to wait for more than some 3 us is always timed.
#ifndef PLI_TRACE_SAMPLE_H
#define PLI_TRACE_SAMPLE_H

#include "trace/trace.h"

// Calls are sampled from now on. header: for the speed of the counter.
void pli_trace_sample_open(const struct pli_trace_header *h);

// What the library calls while this thread waits.
void pli_trace_sample_looked(uint32_t n_look);

// A call was timed, from which others may follow that are not: the entry for it and for those that
// were counted since the last one. Returns its serial, 0: they are to be timed too.
uint32_t pli_trace_sample_timed(struct pli_trace_thread *self, const struct pli_trace_args *a,
                                const struct pli_trace_event *e);

// The entry of the call that this thread is in, which is sampled.
static inline struct pli_trace_sampled *pli_trace_sample_now(const struct pli_trace_thread *self)
{
    return (struct pli_trace_sampled *)(self->closed & ~(uintptr_t)PLI_TRACE_FLAGS);
}

// A sampled call was not short after all: it is over now. Takes arguments of the call that the
// entry does not have, and returns err, which is in its register already.
int pli_trace_sample_end_long(int err, struct pli_trace_thread *self, MPI_Request request,
                              const MPI_Status *status) __attribute__((cold));
// The same for a call that ends otherwise: when it began.
uint64_t pli_trace_sample_long(struct pli_trace_thread *self) __attribute__((cold));
// The request of a sampled call that is not the one its last call had.
void pli_trace_sample_keep(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                           MPI_Request request) __attribute__((cold));
// Add up what was counted so far.
void pli_trace_sample_flush(struct pli_trace_thread *self);

// What an entry is found by, beside the arguments: the place and the function, of which several may
// be called from one place. is_named: the call itself says whom it waits for, and no status must.
static inline uint64_t pli_trace_sample_key(const void *site, enum pli_trace_kind kind,
                                            bool is_named)
{
    return (uintptr_t)site | (uint64_t)kind << 56 | (uint64_t)!is_named << 63;
}

// Count and peer in one word; the count has 32 bits.
static inline uint64_t pli_trace_sample_amount(uint64_t count, int peer)
{
    return count | (uint64_t)(uint32_t)peer << 32;
}

static inline struct pli_trace_sampled *pli_trace_sample_at(struct pli_trace_thread *self,
                                                            uint64_t key, uint64_t amount)
{
    uint64_t at = key + ((amount + (amount >> 30)) << 5);
    return &self->sampled[(at >> 2) % PLI_TRACE_N_SAMPLED];
}

// The entry of a call that is not timed, which has begun then. NULL: it is to be timed, as are all
// whose count has more than 32 bits. All is compared at once, so that there is one branch.
static inline struct pli_trace_sampled *pli_trace_sample_begin(struct pli_trace_thread *self,
                                                               uint64_t key, MPI_Comm comm,
                                                               MPI_Datatype datatype,
                                                               uint64_t count, int peer)
{
    uint64_t amount = pli_trace_sample_amount(count, peer);
    struct pli_trace_sampled *q = pli_trace_sample_at(self, key, amount);
    uint32_t n_left = q->n_left - 1;
    uint64_t other = (atomic_load_explicit(&q->key, memory_order_relaxed) ^ key) |
                     (q->comm ^ (uintptr_t)comm) | (q->datatype ^ (uintptr_t)datatype) |
                     (q->amount ^ amount) | self->closed | (uint64_t)n_left >> 31 | count >> 32;
    if (__builtin_expect(other != 0, 0)) {
        return NULL;
    }
    q->n_left = n_left;
    self->closed = (uintptr_t)q;
    return q;
}

// True: it was short.
static inline bool pli_trace_sample_end(struct pli_trace_thread *self)
{
    if (__builtin_expect(self->looked != 0, 0)) {
        return false;
    }
    self->closed = 0;
    return true;
}

// Calls that send or receive, and those that post a request.
__attribute__((always_inline)) static inline int
pli_trace_sample_end_call(struct pli_trace_thread *self, const MPI_Status *status, int err)
{
    return pli_trace_sample_end(self)
               ? err
               : pli_trace_sample_end_long(err, self, MPI_REQUEST_NULL, status);
}

static inline int pli_trace_sample_end_post(struct pli_trace_thread *self,
                                            struct pli_trace_sampled *q, const MPI_Request *request,
                                            int err)
{
    bool is_posted = __builtin_expect(err == MPI_SUCCESS, 1);
    if (!pli_trace_sample_end(self)) {
        return pli_trace_sample_end_long(err, self, is_posted ? *request : MPI_REQUEST_NULL, NULL);
    }
    const struct pli_trace_request *r = is_posted ? pli_trace_request_at(self, *request) : NULL;
    if (is_posted && __builtin_expect(r->handle != *request || r->sampled != q->serial, 0)) {
        pli_trace_sample_keep(self, q, *request);
    }
    return err;
}

#endif
