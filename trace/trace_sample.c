// SPDX-License-Identifier: BSD-3-Clause
// Decides which calls are timed one by one and which are sampled, and adds up the latter.
#include "trace/trace_sample.h"

enum {
    N_LOOK = 256,     // looks in vain after which a call is timed: some 3 us
    EVERY = 512,      // sampled calls of which one is timed, in the mean
    N_FIRST = 16,     // calls that must be short before others are not timed
    SHORT_NS = 2000,  // a call of this time is no short one
    CAP_NS = 20000,   // what took longer was an accident: it is not taken for that of others
    SPARSE_NS = 50000 // calls with more time between them are all timed
};

static struct {
    bool is_on;
    uint64_t ticks_short, ticks_cap, ticks_sparse;
    uint64_t ticks_read; // what reading the counter takes, in 1/64
} state;

// Good enough for the limits above.
static double ticks_per_ns(const struct pli_trace_header *h)
{
#if defined __aarch64__
    uint64_t frequency;
    (void)h;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return (double)frequency / 1e9;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return ns > h->ns ? (double)(pli_trace_ticks() - h->ticks) / (double)(ns - h->ns) : 1;
#endif
}

// 64 reads of the counter; the best of some rounds, as others may take the processor away.
static uint64_t time_reads(void)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 8; round++) {
        uint64_t begin = pli_trace_ticks(), end = begin;
        for (int i = 0; i < 64; i++) {
            end = pli_trace_ticks();
        }
        best = end - begin < best ? end - begin : best;
    }
    return best;
}

void pli_trace_sample_open(const struct pli_trace_header *h)
{
    double per_ns = ticks_per_ns(h);
    state.ticks_short = (uint64_t)(SHORT_NS * per_ns);
    state.ticks_cap = (uint64_t)(CAP_NS * per_ns);
    state.ticks_sparse = (uint64_t)(SPARSE_NS * per_ns);
    state.is_on = state.ticks_short > 0;
    state.ticks_read = time_reads();
}

void pli_trace_sample_looked(uint32_t n_look)
{
    struct pli_trace_thread *self = pli_trace_is_foreign ? pli_trace_std.self : pli_trace_self;
    if (self == NULL || self->closed <= PLI_TRACE_FLAGS) {
        return;
    }
    const struct pli_trace_sampled *q = pli_trace_sample_now(self);
    bool is_same = self->look_entry == (uintptr_t)q && self->look_left == q->n_left;
    self->look_entry = (uintptr_t)q;
    self->look_left = q->n_left;
    uint32_t before = is_same ? self->n_look : 0;
    self->n_look = before + n_look;
    if (before < N_LOOK && self->n_look >= N_LOOK) {
        struct pli_trace_slot *s = self->slot;
        s->in_function = s->sites[q->site].function;
        self->looked = pli_trace_ticks();
        s->in_call = self->looked - q->ticks_each;
    } else if (before < 2 * N_LOOK && self->n_look >= 2 * N_LOOK) { // so long the first ones took
        uint64_t ticks = pli_trace_ticks() - self->looked;
        self->slot->in_call -= ticks < state.ticks_cap ? ticks : state.ticks_cap;
    }
}

static bool is_same(const struct pli_trace_sampled *q, const struct pli_trace_args *a, uint64_t key)
{
    return atomic_load_explicit(&q->key, memory_order_relaxed) == key &&
           q->comm == (uintptr_t)a->comm && q->datatype == (uintptr_t)a->datatype &&
           q->amount == pli_trace_sample_amount((uint64_t)a->count, a->peer);
}

static void set_entry(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                      const struct pli_trace_args *a, const struct pli_trace_event *e, uint64_t key)
{
    bool is_send = (e->flags & (PLI_TRACE_IS_SEND | PLI_TRACE_IS_BOTH)) != 0;
    pli_trace_add_sampled(self->slot, q);
    *q = (struct pli_trace_sampled){
        .key = key,
        .comm = (uintptr_t)a->comm,
        .datatype = (uintptr_t)a->datatype,
        .amount = pli_trace_sample_amount((uint64_t)a->count, a->peer),
        .address = (uintptr_t)a->site,
        .serial = ++self->n_sampled,
        .timed = e->begin,
        .bytes_each = e->bytes,
        .site = e->site,
        .bin = is_send ? pli_trace_bin(e->bytes) : PLI_TRACE_N_BIN,
        .is_wait = a->is_wait,
    };
}

// Which call is timed must not go with what the program does at every 64th, nor with what the
// partner times.
static uint32_t next_random(struct pli_trace_thread *self)
{
    self->random = self->random * 1103515245u + 12345u + self->slot->pid;
    return self->random >> 16;
}

// What a call took that was not timed, by one that was: the latter had the counter read inside of
// it once, unless it waited meanwhile. A call has few ticks, so that what is subtracted is right in
// the mean only.
static uint64_t each(struct pli_trace_thread *self, uint64_t ticks, bool is_wait)
{
    uint64_t read = is_wait ? 0 : (state.ticks_read + next_random(self) % 64) / 64;
    ticks = ticks > read ? ticks - read : 0;
    return ticks < state.ticks_cap ? ticks : state.ticks_cap;
}

// Whether one in many is timed from now on.
static void set_limit(struct pli_trace_thread *self, struct pli_trace_sampled *q, uint64_t ticks,
                      uint64_t begin)
{
    uint64_t gap = (begin - q->timed) / (q->limit + 1u);
    bool is_short = ticks < state.ticks_short && gap < state.ticks_sparse;
    q->n_short = is_short ? q->n_short + (q->n_short < N_FIRST) : 0;
    q->limit = q->n_short >= N_FIRST ? EVERY / 2 + next_random(self) % EVERY : 0;
    q->n_left = q->n_added = q->limit;
    q->timed = begin;
}

uint32_t pli_trace_sample_timed(struct pli_trace_thread *self, const struct pli_trace_args *a,
                                const struct pli_trace_event *e)
{
    if (!state.is_on || (uint64_t)a->count >> 32 != 0) {
        return 0;
    }
    uint64_t key = pli_trace_sample_key(a->site, a->kind, a->peer >= 0 || !a->is_wait);
    struct pli_trace_sampled *q =
        pli_trace_sample_at(self, key, pli_trace_sample_amount((uint64_t)a->count, a->peer));
    if (!is_same(q, a, key)) {
        set_entry(self, q, a, e, key);
    }
    uint64_t ticks = e->end - e->begin;
    q->ticks_each = each(self, ticks, a->is_wait);
    q->peer_entry = pli_trace_peer_number(self, e->peer, e->peer_ep);
    pli_trace_add_sampled(self->slot, q);
    set_limit(self, q, ticks, e->begin);
    return q->serial;
}

static struct pli_trace_args args_of(const struct pli_trace_thread *self,
                                     const struct pli_trace_sampled *q)
{
    return (struct pli_trace_args){
        .function = (enum pli_trace_fn)self->slot->sites[q->site].function,
        .site = (const void *)(uintptr_t)q->address,
        .comm = (MPI_Comm)(uintptr_t)q->comm,
        .datatype = (MPI_Datatype)(uintptr_t)q->datatype,
        .count = (uint32_t)q->amount,
        .peer = (int)(q->amount >> 32),
        .has_peer = true,
    };
}

// It is recorded as a call that was timed, and no longer as one that was counted.
uint64_t pli_trace_sample_long(struct pli_trace_thread *self)
{
    pli_trace_sample_now(self)->n_left++;
    self->looked = 0;
    self->look_entry = 0;
    self->closed &= PLI_TRACE_PAUSED;
    return self->slot->in_call;
}

int pli_trace_sample_end_long(int err, struct pli_trace_thread *self, MPI_Request request,
                              const MPI_Status *status)
{
    struct pli_trace_args a = args_of(self, pli_trace_sample_now(self));
    a.request = request;
    a.status = status;
    pli_trace_end(self, pli_trace_sample_long(self), &a, err);
    return err;
}

void pli_trace_sample_keep(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                           MPI_Request request)
{
    struct pli_trace_args a = args_of(self, q);
    a.request = request;
    pli_trace_keep(self, &a, q->serial);
}

void pli_trace_sample_flush(struct pli_trace_thread *self)
{
    for (uint32_t i = 0; i < PLI_TRACE_N_SAMPLED; i++) {
        if (pli_trace_n_sampled(&self->slot->sampled[i]) > 0) {
            pli_trace_add_sampled(self->slot, &self->slot->sampled[i]);
        }
    }
}
