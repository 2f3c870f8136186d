// SPDX-License-Identifier: BSD-3-Clause
// Long runs in pieces: origin and target each take the next one until none is left. One that is not
// there takes none, so the origin waits only for a piece that the target has begun.
#include "rma/win_ring_copy.h"

#include "base/copy_stream.h"
#include "base/cpu.h"
#include "msg/endpoint.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "rma/rma_cma.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_attach.h"
#include "rma/win_ring_priv.h"

enum {
    FROM = 32768,     // bytes; below it one process is done before the other has begun
    WARM = 512 << 10, // bytes that stay in the cache of one core
    PIECE = 131072,   // bytes; of shorter runs each process copies a half
    PAGE = 4096,
    TURN = 8,        // pieces that a target copies before it looks after other messages
    LOOKS = 2000,    // for a piece that the target has begun, before others get their turn
    NUMBER = 1 << 16 // of pieces in `next`
};

static uint64_t count_of(uint64_t next)
{
    return next / NUMBER % NUMBER;
}

// The next piece nobody has begun; false: there is none.
static bool take(struct pli_win_ring_job *job, uint64_t *piece_out)
{
    uint64_t next = atomic_load_explicit(&job->next, memory_order_acquire);
    do {
        if (next % NUMBER >= count_of(next)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&job->next, &next, next + 1,
                                                    memory_order_acquire, memory_order_acquire));
    *piece_out = next % NUMBER;
    return true;
}

// Where a run begins in this process, and in the other one, or as this one has mapped it.
struct run {
    uintptr_t here, there;
    bool is_mapped;
};

// Copy a piece that was taken, from or to memory of this process.
static void copy(struct pli_win_ring_job *job, uint64_t piece, struct pli_win_peer *other,
                 const struct run *run, bool is_from_here)
{
    uint64_t bytes = atomic_load_explicit(&job->bytes, memory_order_relaxed);
    uint64_t each = atomic_load_explicit(&job->piece, memory_order_relaxed);
    uint64_t from = piece * each, len = bytes - from < each ? bytes - from : each;
    char *here = (char *)(run->here + from), *there = (char *)(run->there + from);
    if (run->is_mapped) {
        pli_copy_stream(is_from_here ? there : here, is_from_here ? here : there, len);
    } else if (!pli_rma_cma_copy(other, here, (uintptr_t)there, len, is_from_here)) {
        atomic_store_explicit(&job->has_failed, 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&job->n_done, 1, memory_order_release);
}

void pli_win_ring_copy_help(struct pli_win *w, struct pli_win_ring_wire *wire)
{
    struct pli_win_ring_job *job = &wire->job;
    uint64_t piece;
    for (int i = 0; i < TURN && wire->origin < (uint32_t)w->comm->size && take(job, &piece); i++) {
        int64_t at = atomic_load_explicit(&job->at, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&job->bytes, memory_order_relaxed);
        uint64_t base = w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : (uintptr_t)w->base;
        bool is_put = atomic_load_explicit(&job->is_put, memory_order_relaxed) != 0;
        if (pli_win_attach_has(w, at, bytes)) {
            struct run run = { .here = base + (uint64_t)at,
                               .there = atomic_load_explicit(&job->here, memory_order_relaxed) };
            copy(job, piece, &w->peers[wire->origin], &run, !is_put);
        } else {
            atomic_store_explicit(&job->has_failed, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&job->n_done, 1, memory_order_release);
        }
    }
}

// Begin a run. Context: locked.
static void begin(struct pli_win_ring_job *job, const struct pli_rma_target *t, const void *here,
                  size_t bytes, bool is_put)
{
    uint64_t half = (bytes / 2 + PAGE - 1) / PAGE * PAGE, piece = half < PIECE ? half : PIECE,
             run = atomic_load_explicit(&job->next, memory_order_relaxed);
    while (bytes / piece >= PLI_WIN_RING_PIECES) {
        piece *= 2;
    }
    uint64_t n = (bytes + piece - 1) / piece;
    atomic_store_explicit(&job->at, t->at + t->type->true_lb, memory_order_relaxed);
    atomic_store_explicit(&job->here, (uintptr_t)here, memory_order_relaxed);
    atomic_store_explicit(&job->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&job->piece, piece, memory_order_relaxed);
    atomic_store_explicit(&job->is_put, is_put, memory_order_relaxed);
    atomic_store_explicit(&job->n_done, 0, memory_order_relaxed);
    atomic_store_explicit(&job->has_failed, 0, memory_order_relaxed);
    run = run / NUMBER / NUMBER + 1;
    atomic_store_explicit(&job->next, (run * NUMBER + n) * NUMBER, memory_order_release);
}

static bool is_done(struct pli_win_ring_job *job)
{
    return atomic_load_explicit(&job->n_done, memory_order_acquire) ==
           count_of(atomic_load_explicit(&job->next, memory_order_relaxed));
}

// The target has begun the last pieces.
static void await(struct pli_win *w, int rank, struct pli_win_ring_job *job)
{
    struct pli_waiter wait = {
        .lane = w->comm->ep->lane, .comm = w->comm, .call = "one-sided access", .peer = rank
    };
    for (uint32_t i = 0; i < LOOKS && !is_done(job); i++) {
        pli_cpu_relax();
    }
    while (!is_done(job)) {
        pli_progress_step(&wait);
    }
    pli_progress_end(&wait);
}

static bool may_help(struct pli_win *w, const struct pli_rma_target *t, size_t bytes)
{
    size_t least = t->peer->is_near ? PLI_WIN_RING_COPY_NEAR : FROM;
    return bytes >= least && t->peer->may_ring && pli_progress_spins() > 1 &&
           pli_rma_cma_may_reach(t, bytes) && !pli_win_ring_is_asleep(t->peer) &&
           pli_win_ring_of(w, t->peer) != NULL;
}

// Both copy. False: the target is not there, or it has failed.
static bool copy_together(struct pli_win *w, const struct pli_rma_target *t, struct pli_win_ring *r,
                          const struct run *run, size_t bytes, bool is_put)
{
    pli_lock_take(&r->lock);
    bool is_mine = !r->is_copying && pli_win_ring_is_heard(r);
    if (is_mine) {
        r->is_copying = true;
        begin(&r->wire->job, t, (const void *)run->here, bytes, is_put);
        pli_win_ring_tell(w, t->rank, r);
    }
    pli_lock_drop(&r->lock);
    if (!is_mine) {
        return false;
    }
    struct pli_win_ring_job *job = &r->wire->job;
    uint64_t piece;
    while (take(job, &piece)) {
        copy(job, piece, t->peer, run, is_put);
        pli_lock_take(&r->lock);
        pli_win_ring_tell(w, t->rank, r); // it may take more
        pli_lock_drop(&r->lock);
    }
    await(w, t->rank, job);
    bool has_failed = atomic_load_explicit(&job->has_failed, memory_order_relaxed) != 0;
    pli_lock_take(&r->lock);
    r->is_copying = false;
    pli_lock_drop(&r->lock);
    return !has_failed;
}

// Whether this process alone is as fast: the memory is mapped here, and what it copied last, which
// is in its cache.
static bool is_warm(const struct pli_rma_target *t, struct pli_win_ring *r, size_t bytes)
{
    if (!t->peer->is_near) {
        return false;
    }
    pli_lock_take(&r->lock);
    bool is_again = r->long_at == t->at;
    r->long_at = t->at;
    pli_lock_drop(&r->lock);
    return is_again && bytes < WARM;
}

bool pli_win_ring_copy(struct pli_win *w, const struct pli_rma_target *t, void *here, size_t bytes,
                       bool is_put)
{
    if (!may_help(w, t, bytes)) {
        return false;
    }
    bool is_mapped = t->peer->is_near;
    uintptr_t base = is_mapped ? t->peer->base : t->peer->address;
    struct run run = { .here = (uintptr_t)here,
                       .there = base + (uintptr_t)t->at + (uintptr_t)t->type->true_lb,
                       .is_mapped = is_mapped };
    struct pli_win_ring *r = t->peer->ring;
    return !is_warm(t, r, bytes) && copy_together(w, t, r, &run, bytes, is_put);
}
