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

// A call with an entry was not short after all, or it failed. Takes the argument of the call that
// the entry does not have.
void pli_trace_sample_end_long(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                               MPI_Request request, const MPI_Status *status, int err)
    __attribute__((cold));
// The same for a call that ends otherwise: when it began.
uint64_t pli_trace_sample_long(struct pli_trace_thread *self, const struct pli_trace_sampled *q)
    __attribute__((cold));
// The request of a sampled call that is not the one its last call had.
void pli_trace_sample_keep(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                           MPI_Request request) __attribute__((cold));
// Add up what was counted so far.
void pli_trace_sample_flush(struct pli_trace_thread *self);

static inline struct pli_trace_sampled *
pli_trace_sample_at(struct pli_trace_thread *self, const void *site, int64_t count, int peer)
{
    uint32_t at = (uint32_t)((uintptr_t)site >> 2) + ((uint32_t)peer << 5) + ((uint32_t)count << 3);
    return &self->sampled[at % PLI_TRACE_N_SAMPLED];
}

// The entry of a call that is not timed, which has begun then. NULL: it is to be timed.
static inline struct pli_trace_sampled *pli_trace_sample_begin(struct pli_trace_thread *self,
                                                               const void *site, MPI_Comm comm,
                                                               MPI_Datatype datatype, int64_t count,
                                                               int peer)
{
    if (__builtin_expect(self == NULL, 0)) {
        return NULL;
    }
    struct pli_trace_sampled *q = pli_trace_sample_at(self, site, count, peer);
    uint32_t now = atomic_load_explicit(&pli_trace_generation, memory_order_relaxed);
    uint64_t other = (q->address ^ (uintptr_t)site) | (q->comm ^ (uintptr_t)comm) |
                     (q->datatype ^ (uintptr_t)datatype) | (uint64_t)(q->count ^ count) |
                     (uint64_t)((uint32_t)q->peer ^ (uint32_t)peer) | (q->generation ^ now) |
                     self->closed;
    if (__builtin_expect(other != 0, 0) || __builtin_expect(q->n_left == 0, 0)) {
        return NULL;
    }
    self->closed = (uintptr_t)q;
    return q;
}

// True: it was short.
static inline bool pli_trace_sample_end(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                                        int err)
{
    if (__builtin_expect((self->looked | (uint32_t)err) != 0, 0)) {
        return false;
    }
    self->closed = 0;
    q->n_left--;
    return true;
}

// Calls that send or receive, and those that post a request.
static inline int pli_trace_sample_end_call(struct pli_trace_thread *self,
                                            struct pli_trace_sampled *q, const MPI_Status *status,
                                            int err)
{
    if (pli_trace_sample_end(self, q, err)) {
        return MPI_SUCCESS;
    }
    pli_trace_sample_end_long(self, q, MPI_REQUEST_NULL, status, err);
    return err;
}

static inline int pli_trace_sample_end_post(struct pli_trace_thread *self,
                                            struct pli_trace_sampled *q, const MPI_Request *request,
                                            int err)
{
    if (!pli_trace_sample_end(self, q, err)) {
        pli_trace_sample_end_long(self, q, err == MPI_SUCCESS ? *request : MPI_REQUEST_NULL, NULL,
                                  err);
        return err;
    }
    const struct pli_trace_request *r = pli_trace_request_at(self, *request);
    if (__builtin_expect(r->handle != *request || r->sampled != q->serial, 0)) {
        pli_trace_sample_keep(self, q, *request);
    }
    return err;
}

#endif
