// SPDX-License-Identifier: BSD-3-Clause
// Rings of small accesses: the origin's side.
// A message tells the target where accesses are; one that was not read yet shows that the target is
// in no call of MPI. Whoever takes accesses out of a ring holds it, so each is done once.
#include "rma/win_ring.h"

#include "base/conf.h"
#include "boot/boot.h"
#include "msg/arena.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "net/shm/peer_memory.h"
#include "net/shm/shm.h"
#include "obj/comm.h"
#include "onesided/region.h"
#include "onesided/region_apply.h"
#include "rma/rma_cma.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_ring_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
    LOOKS = 64,          // for a target that does not answer, before the origin does it itself
    ALONE_MOST = 2048,   // bytes: longer ones take longer than by the kernel, unless in a row
    SIZE = 16384,        // of a ring, at first,
    SIZE_LARGE = 131072, // and when so many accesses have found no room
    LACKS = 16,
    SMALL_MOST = 4096 // bytes of an access that goes by a ring of the first size
};

bool pli_win_ring_may(struct pli_id id)
{
    uint32_t row;
    return pli_conf.rma_ring[0] != 'n' && !pli_request_may_be_withdrawn &&
           pli_boot_shares(&pli_boot, id.proc, &row);
}

static struct pli_win_ring_wire *make_wire(struct pli_win *w, uint32_t size)
{
    struct pli_win_ring_wire *wire = pli_arena_take(sizeof *wire + size);
    if (wire != NULL) {
        memset(wire, 0, sizeof *wire);
        wire->origin = (uint32_t)w->comm->rank;
        wire->size = size;
    }
    return wire;
}

static struct pli_win_ring *make(struct pli_win *w, struct pli_win_peer *p)
{
    struct pli_win_ring *r;
    pli_lock_take(&w->lock);
    if (p->may_ring && p->ring == NULL) {
        r = calloc(1, sizeof *r);
        if (r != NULL && (r->wire = make_wire(w, p->is_near ? PLI_WIN_RING_ALIGN : SIZE)) != NULL) {
            atomic_store_explicit(&p->ring, r, memory_order_release);
        } else {
            free(r);
            p->may_ring = false;
        }
    }
    pli_lock_drop(&w->lock);
    return p->ring;
}

struct pli_win_ring *pli_win_ring_of(struct pli_win *w, struct pli_win_peer *p)
{
    struct pli_win_ring *r = atomic_load_explicit(&p->ring, memory_order_acquire);
    return r != NULL ? r : make(w, p);
}

bool pli_win_ring_is_heard(const struct pli_win_ring *r)
{
    return atomic_load_explicit(&r->wire->n_heard, memory_order_acquire) == r->n_told;
}

void pli_win_ring_tell(struct pli_win *w, int rank, struct pli_win_ring *r)
{
    if (!pli_win_ring_is_heard(r)) {
        return;
    }
    struct pli_lane *lane = w->comm->ep->lane;
    r->is_away = false;
    pli_lock_take(&lane->lock);
    struct pli_conn *c = pli_lane_conn(lane, pli_group_at(w->comm->group, rank));
    if (c != NULL) { // else there is no memory now; the next look tries again
        r->n_told++;
        pli_lane_note(c, PLI_MSG_RING, pli_arena_offset(r->wire), r->head, w->peers[rank].window);
        r->told = pli_list_is_empty(&c->notes) ? r->head : r->told;
    }
    pli_lock_drop(&lane->lock);
}

// What others have done is over: gets have their data. Context: locked.
static void settle(struct pli_win_ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->wire->tail, memory_order_acquire);
    while (r->n_get > 0 && r->over < tail) {
        struct pli_win_ring_entry *e = pli_win_ring_entry_at(r->wire, r->over);
        if (e->kind == PLI_WIN_RING_GET) {
            pli_region_apply_copy((void *)(uintptr_t)e->to, e->data, e->len);
            r->n_get--;
        }
        r->over += e->kind == PLI_WIN_RING_SKIP ? e->len : pli_win_ring_bytes_of(e->len);
    }
    r->over = tail;
}

// Room for an access of so many bytes, NULL: there is none. Context: locked.
static struct pli_win_ring_entry *room_for(struct pli_win_ring *r, size_t bytes)
{
    uint64_t need = pli_win_ring_bytes_of((uint32_t)bytes), rest;
    rest = r->wire->size - (r->head & (r->wire->size - 1));
    uint64_t skip = rest < need ? rest : 0;
    if (r->head + skip + need - r->over > r->wire->size) {
        settle(r);
        if (r->head + skip + need - r->over > r->wire->size) {
            return NULL;
        }
    }
    if (skip > 0) {
        struct pli_win_ring_entry *e = pli_win_ring_entry_at(r->wire, r->head);
        e->kind = PLI_WIN_RING_SKIP;
        e->len = (uint32_t)skip;
        r->head += skip;
    }
    return pli_win_ring_entry_at(r->wire, r->head);
}

bool pli_win_ring_is_asleep(struct pli_win_peer *p)
{
    struct pli_shm_mailbox *box = atomic_load_explicit(&p->box, memory_order_relaxed);
    return box != NULL && atomic_load_explicit(&box->asleep, memory_order_relaxed) != 0;
}

static void publish(struct pli_win *w, int rank, struct pli_win_ring *r, uint32_t len)
{
    r->head += pli_win_ring_bytes_of(len);
    atomic_store_explicit(&r->wire->head, r->head, memory_order_release);
    if (!pli_win_ring_is_asleep(&w->peers[rank])) {
        pli_win_ring_tell(w, rank, r);
    }
}

// Whether an access is alone before the origin waits, as the last one was, and better done at once
// by the kernel. Context: locked.
static bool is_better_alone(struct pli_win_ring *r, const struct pli_win_peer *p, size_t bytes)
{
    if (bytes <= ALONE_MOST || r->n_since > 0 || !r->was_alone ||
        atomic_load_explicit(&p->box, memory_order_relaxed) == NULL) {
        return false;
    }
    settle(r);
    return r->over == r->head;
}

// Take a larger ring, in which the target can be busy while this process writes. Not while anything
// is in the old one or the target may look at it. Context: locked.
static void grow(struct pli_win *w, struct pli_win_ring *r)
{
    settle(r);
    if (r->over != r->head || r->is_copying || !pli_win_ring_is_heard(r) ||
        atomic_load_explicit(&r->wire->fault, memory_order_relaxed) != PLI_OK) {
        return;
    }
    struct pli_win_ring_wire *fresh = make_wire(w, SIZE_LARGE);
    if (fresh != NULL) {
        atomic_store_explicit(&fresh->n_heard, r->n_told, memory_order_relaxed);
        atomic_store_explicit(&fresh->tail, r->head, memory_order_relaxed);
        atomic_store_explicit(&fresh->head, r->head, memory_order_relaxed);
        pli_arena_give(r->wire);
        r->wire = fresh;
    }
    r->n_lack = 0;
}

// Where to write down an access; NULL: it does not go this way. Context: locked.
static struct pli_win_ring_entry *entry_for(struct pli_win *w, const struct pli_rma_target *t,
                                            struct pli_win_ring *r, size_t bytes)
{
    if (r->n_lack >= LACKS && r->wire->size == SIZE) {
        grow(w, r);
    }
    bool is_alone = is_better_alone(r, t->peer, bytes);
    r->n_since++;
    if (is_alone) {
        return NULL;
    }
    bool is_long = bytes > SMALL_MOST && r->wire->size == SIZE;
    struct pli_win_ring_entry *e = is_long ? NULL : room_for(r, bytes);
    r->n_lack += e == NULL && r->n_since > 1;
    return e;
}

// The origin waits. Context: locked.
static void begin_anew(struct pli_win_ring *r)
{
    if (r->n_since > 0) {
        r->was_alone = r->n_since == 1;
        r->n_since = 0;
    }
}

bool pli_win_ring_put(struct pli_win *w, const struct pli_rma_target *t, const void *from,
                      size_t bytes)
{
    struct pli_win_ring *r = bytes <= PLI_WIN_RING_MOST ? pli_win_ring_of(w, t->peer) : NULL;
    if (r == NULL) {
        return false;
    }
    pli_lock_take(&r->lock);
    struct pli_win_ring_entry *e = entry_for(w, t, r, bytes);
    if (e != NULL) {
        e->at = t->at + t->type->true_lb;
        e->len = (uint32_t)bytes;
        e->kind = PLI_WIN_RING_PUT;
        memcpy(e->data, from, bytes);
        publish(w, t->rank, r, e->len);
    }
    pli_lock_drop(&r->lock);
    return e != NULL;
}

bool pli_win_ring_get(struct pli_win *w, const struct pli_rma_target *t, void *to, size_t bytes)
{
    struct pli_win_ring *r = bytes <= PLI_WIN_RING_MOST ? pli_win_ring_of(w, t->peer) : NULL;
    if (r == NULL) {
        return false;
    }
    pli_lock_take(&r->lock);
    struct pli_win_ring_entry *e = entry_for(w, t, r, bytes);
    if (e != NULL) {
        e->at = t->at + t->type->true_lb;
        e->to = (uintptr_t)to;
        e->len = (uint32_t)bytes;
        e->kind = PLI_WIN_RING_GET;
        r->n_get++;
        publish(w, t->rank, r, e->len);
    }
    pli_lock_drop(&r->lock);
    return e != NULL;
}

// Accesses of one kind that one system call does.
struct pieces {
    struct iovec here[PLI_PEER_MEMORY_PIECES], there[PLI_PEER_MEMORY_PIECES];
    int n;
    size_t bytes;
};

static void add(struct pieces *p, const struct pli_win_peer *peer,
                const struct pli_win_ring_entry *e, void *here)
{
    p->here[p->n] = (struct iovec){ here, e->len };
    p->there[p->n] = (struct iovec){ (void *)(uintptr_t)(peer->address + (uint64_t)e->at), e->len };
    p->bytes += e->len;
    p->n++;
}

// Do what the target has not, by the kernel, as much as goes into one call of each kind. Context:
// the ring is held.
static bool do_some(struct pli_win_ring *r, struct pli_win_peer *peer)
{
    struct pieces put = { .n = 0 }, get = { .n = 0 };
    uint64_t at = atomic_load_explicit(&r->wire->tail, memory_order_relaxed);
    while (at < r->head && put.n < PLI_PEER_MEMORY_PIECES && get.n < PLI_PEER_MEMORY_PIECES) {
        struct pli_win_ring_entry *e = pli_win_ring_entry_at(r->wire, at);
        if (e->kind == PLI_WIN_RING_PUT) {
            add(&put, peer, e, e->data);
        } else if (e->kind == PLI_WIN_RING_GET) {
            add(&get, peer, e, (void *)(uintptr_t)e->to);
        }
        at += e->kind == PLI_WIN_RING_SKIP ? e->len : pli_win_ring_bytes_of(e->len);
    }
    if (!pli_rma_cma_move(peer, put.here, put.there, put.n, put.bytes, true) ||
        !pli_rma_cma_move(peer, get.here, get.there, get.n, get.bytes, false)) {
        return false;
    }
    r->n_get -= (uint32_t)get.n;
    r->over = at;
    atomic_store_explicit(&r->wire->tail, at, memory_order_release);
    return true;
}

// The same with all of it. False: the target is at it, or it has to be done there. Context: locked.
static bool do_here(struct pli_win_ring *r, struct pli_win_peer *peer)
{
    uint32_t was = 0;
    if (atomic_load_explicit(&peer->box, memory_order_relaxed) == NULL ||
        !atomic_compare_exchange_strong_explicit(&r->wire->is_taken, &was, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    bool is_done = true;
    settle(r);
    while (is_done && r->over < r->head) {
        is_done = do_some(r, peer);
    }
    atomic_store_explicit(&r->wire->is_taken, 0, memory_order_release);
    return is_done;
}

static uint32_t patience(void)
{
    uint32_t looks = pli_progress_spins();
    return looks < LOOKS ? looks : LOOKS;
}

// Look for a while whether the target does it, and serve others meanwhile. False: it does not.
// Context: locked; the lock is dropped in between.
static bool await_target(struct pli_win *w, int rank, struct pli_win_ring *r, uint64_t want)
{
    uint64_t before = r->over;
    for (uint32_t left = patience(); r->over < want && left > 0; left--) {
        pli_win_ring_tell(w, rank, r);
        pli_lock_drop(&r->lock);
        pli_progress_once(w->comm->ep->lane);
        pli_lock_take(&r->lock);
        settle(r);
        left = r->over != before ? patience() : left;
        before = r->over;
    }
    return r->over >= want;
}

// The target has to do it, or is about to: wait as for any message. Context: as above.
static void wait_for_target(struct pli_win *w, int rank, struct pli_win_ring *r, uint64_t want,
                            const char *call)
{
    struct pli_waiter wait = {
        .lane = w->comm->ep->lane, .comm = w->comm, .call = call, .peer = rank
    };
    while (r->over < want && !do_here(r, &w->peers[rank])) {
        pli_win_ring_tell(w, rank, r);
        pli_lock_drop(&r->lock);
        pli_progress_step(&wait);
        pli_lock_take(&r->lock);
        settle(r);
    }
    pli_lock_drop(&r->lock);
    pli_progress_end(&wait);
    pli_lock_take(&r->lock);
}

// Context: as above.
static void complete(struct pli_win *w, int rank, struct pli_win_ring *r, const char *call)
{
    uint64_t want = r->head;
    settle(r);
    if (r->over < want && !r->is_away && !pli_win_ring_is_asleep(&w->peers[rank])) {
        r->is_away = !await_target(w, rank, r, want);
    }
    if (r->over < want && !do_here(r, &w->peers[rank])) {
        wait_for_target(w, rank, r, want, call);
    }
}

void pli_win_ring_flush(struct pli_win *w, int rank, const char *call)
{
    struct pli_win_ring *r = w->peers[rank].ring;
    if (r == NULL) {
        return;
    }
    pli_lock_take(&r->lock);
    begin_anew(r);
    if (r->over != r->head) {
        complete(w, rank, r, call);
    }
    if (atomic_load_explicit(&r->wire->fault, memory_order_relaxed) != PLI_OK) {
        // In one step: the target may be at an access of another thread.
        int32_t fault = atomic_exchange_explicit(&r->wire->fault, PLI_OK, memory_order_relaxed);
        pli_region_report(w->region, rank, (enum pli_err)fault);
    }
    pli_lock_drop(&r->lock);
}

void pli_win_ring_hand_over(struct pli_win *w, int rank, const char *call)
{
    struct pli_win_ring *r = w->peers[rank].ring;
    if (r == NULL) {
        return;
    }
    pli_lock_take(&r->lock);
    begin_anew(r);
    bool is_told = r->n_get == 0 && r->told == r->head;
    pli_lock_drop(&r->lock);
    if (!is_told) {
        pli_win_ring_flush(w, rank, call);
    }
}

void pli_win_ring_flush_local(struct pli_win *w, int rank, const char *call)
{
    struct pli_win_ring *r = w->peers[rank].ring;
    if (r == NULL) {
        return;
    }
    pli_lock_take(&r->lock);
    bool is_used = r->n_get > 0; // else accesses after this one follow those before without a wait
    pli_lock_drop(&r->lock);
    if (is_used) {
        pli_win_ring_flush(w, rank, call);
    }
}

void pli_win_ring_drain(struct pli_win *w)
{
    struct pli_waiter wait = { .lane = w->comm->ep->lane, .comm = w->comm, .call = "MPI_Win_free" };
    for (int i = 0; i < w->comm->size; i++) {
        while (w->peers[i].ring != NULL && !pli_win_ring_is_heard(w->peers[i].ring)) {
            wait.peer = i;
            pli_progress_step(&wait);
        }
    }
    pli_progress_end(&wait);
}

void pli_win_ring_clone(struct pli_win *w)
{
    for (int i = 0; w->peers != NULL && i < w->comm->size; i++) {
        free(w->peers[i].ring);
    }
}

void pli_win_ring_destroy(struct pli_win *w)
{
    for (int i = 0; w->peers != NULL && i < w->comm->size; i++) {
        struct pli_win_ring *r = w->peers[i].ring;
        if (r != NULL) {
            pli_arena_give(r->wire);
            free(r);
        }
    }
}
