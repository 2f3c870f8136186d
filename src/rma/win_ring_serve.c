// SPDX-License-Identifier: BSD-3-Clause
// Rings of small accesses: the target's side. It does what others have written into their rings, in
// the order in which they wrote it.
#include "rma/win_ring_serve.h"

#include "base/cpu.h"
#include "msg/arena.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/rndv.h"
#include "net/shm/other_job.h"
#include "net/shm/shm.h"
#include "onesided/region_apply.h"
#include "onesided/region_msg.h"
#include "rma/win.h"
#include "rma/win_attach.h"
#include "rma/win_ring_copy.h"
#include "rma/win_ring_wire.h"

#include <sched.h>

enum {
    LOOKS = 64,    // for an origin that is at it, before others get the core
    TURN = 1 << 17 // bytes that are taken out before other messages are looked after
};

// One access to this member. Lengths are read once: another process may write them.
static enum pli_err apply(struct pli_win *w, struct pli_win_ring_entry *e, uint32_t len,
                          uint64_t room)
{
    bool is_dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    int64_t at = e->at;
    if (sizeof *e + len > room || !pli_win_attach_has(w, at, len)) {
        return PLI_ERR_RMA_RANGE;
    }
    char *here = is_dynamic ? (char *)(uintptr_t)at : (char *)w->base + at;
    if (e->kind == PLI_WIN_RING_PUT) {
        pli_region_apply_copy(here, e->data, len);
    } else {
        pli_region_apply_copy(e->data, here, len);
    }
    return PLI_OK;
}

// Context: the ring is held.
static uint64_t apply_all(struct pli_win *w, struct pli_win_ring_wire *wire, uint64_t tail,
                          uint64_t head)
{
    while (tail < head) {
        struct pli_win_ring_entry *e = pli_win_ring_entry_at(wire, tail);
        uint32_t len = e->len;
        if (e->kind == PLI_WIN_RING_SKIP) {
            tail += len > 0 && len <= wire->size ? len : head - tail;
            continue;
        }
        enum pli_err err = apply(w, e, len, wire->size - (tail & (wire->size - 1)));
        if (err != PLI_OK) {
            atomic_store_explicit(&wire->fault, (int32_t)err, memory_order_relaxed);
        }
        tail += pli_win_ring_bytes_of(len);
    }
    return tail;
}

// Hold the ring. False: the origin has done all of it up to the head; while it is at that, it is
// waited for, because a message that follows may say that it was done. Context: lane locked.
static bool hold(struct pli_win_ring_wire *wire, uint64_t head)
{
    for (uint32_t n = 1;; n++) {
        uint32_t was = 0;
        if (atomic_compare_exchange_strong_explicit(&wire->is_taken, &was, 1, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return true;
        }
        if (atomic_load_explicit(&wire->tail, memory_order_acquire) >= head) {
            return false;
        }
        if (n % LOOKS == 0) {
            sched_yield();
        }
        pli_cpu_relax();
    }
}

// Take out what is in a ring, unless the origin does so, and help with a long run.
static void take_out(struct pli_win *w, struct pli_win_ring_wire *wire, uint64_t head)
{
    if (hold(wire, head)) {
        uint64_t first = atomic_load_explicit(&wire->tail, memory_order_relaxed), tail = first;
        while (tail < head && tail - first < TURN) {
            tail = apply_all(w, wire, tail, head);
            atomic_store_explicit(&wire->tail, tail, memory_order_release);
            head = atomic_load_explicit(&wire->head, memory_order_acquire);
        }
        atomic_store_explicit(&wire->is_taken, 0, memory_order_release);
    }
    pli_win_ring_copy_help(w, wire);
}

// A message about a ring. The origin may have left the call that makes the window before this
// member has; it will ask again. Once the last message is known to be heard the window may be
// freed. Context: lane locked.
static void serve(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct pli_win_ring_wire *wire = pli_arena_at(cell->word[0]);
    struct pli_win *w = (struct pli_win *)(uintptr_t)cell->word[2];
    if (atomic_load_explicit(&w->is_open, memory_order_acquire)) {
        // Threads that synchronise are in order by way of other processes.
        pli_region_msg_order(w->region);
        take_out(w, wire, cell->word[1]);
        pli_region_msg_order(w->region);
    }
    uint32_t heard = atomic_load_explicit(&wire->n_heard, memory_order_relaxed);
    atomic_store_explicit(&wire->n_heard, heard + 1, memory_order_release);
    uint64_t proc = pli_other_job_proc(lane->proc, cell->src_proc);
    struct pli_conn *origin = pli_lane_conn(lane, (struct pli_id){ proc, cell->src_lane });
    if (origin != NULL) {
        pli_shm_wake(origin->shm.box);
    }
}

void pli_win_ring_serve_init(void)
{
    atomic_store_explicit(&pli_rndv_on_ring, serve, memory_order_release);
}
