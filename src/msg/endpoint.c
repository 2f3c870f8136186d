// SPDX-License-Identifier: BSD-3-Clause
// Numbers endpoints and ends them.
#include "msg/endpoint.h"

#include "msg/lane.h"
#include "msg/unexpected.h"
#include "obj/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t next_number;

// Numbers are not used again, so one that is left behind names nothing.
static const uint32_t none = UINT32_MAX;
static _Thread_local uint32_t mine = UINT32_MAX;

// What a thread is attached to: it is detached when it ends.
struct attachment {
    uint32_t number; // of the endpoint
    struct attachment *next;
};
static _Thread_local struct attachment *attachments; // the last first
static _Thread_local uint32_t n_attachment, prune_at = 64;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
static bool has_key;

// Lane 0 is the one the first endpoint of the process is on: fewer lanes than all leave it out,
// unless they need it.
static uint64_t first_from(uint64_t at, uint32_t n, int n_lane, uint64_t *end_out)
{
    if (n_lane == PLI_NODE_N_LANE) {
        *end_out = at + n;
        return at;
    }
    uint64_t shift = at == 0 ? 0 : 1;
    uint64_t first = (at + PLI_NODE_N_LANE - 1) / PLI_NODE_N_LANE * PLI_NODE_N_LANE + shift;
    *end_out = first + (n == 0 ? 0 : pli_endpoint_nth(0, n_lane, n - 1) + 1);
    return first;
}

PLI_START enum pli_err pli_endpoint_number(uint32_t n, int n_lane, uint32_t *first_out)
{
    uint64_t at = atomic_load_explicit(&next_number, memory_order_relaxed), first, end;
    do {
        first = first_from(at, n, n_lane, &end);
        if (end > UINT32_MAX) {
            return pli_fail(PLI_ERR_NOMEM,
                            "this process has made %llu endpoints and has no numbers for %u more",
                            (unsigned long long)at, n);
        }
    } while (!atomic_compare_exchange_weak_explicit(&next_number, &at, end, memory_order_relaxed,
                                                    memory_order_relaxed));
    *first_out = (uint32_t)first;
    return PLI_OK;
}

// The place of an endpoint in its lane's table; NULL: no memory. Context: lane locked.
static struct pli_endpoint **place_of(struct pli_lane *lane, uint32_t number)
{
    uint32_t i = number / PLI_NODE_N_LANE, chunk = i / PLI_LANE_CHUNK;
    if (chunk >= lane->n_chunk) {
        uint32_t n = chunk < 4 ? 4 : chunk * 2;
        struct pli_endpoint ***more = realloc(lane->eps, n * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        memset(more + lane->n_chunk, 0, (n - lane->n_chunk) * sizeof *more);
        lane->eps = more;
        lane->n_chunk = n;
    }
    if (lane->eps[chunk] == NULL) {
        lane->eps[chunk] = calloc(PLI_LANE_CHUNK, sizeof *lane->eps[chunk]);
    }
    return lane->eps[chunk] != NULL ? &lane->eps[chunk][i % PLI_LANE_CHUNK] : NULL;
}

// Take the endpoint out; its chunk goes with the last of it. Context: lane locked.
static void forget(struct pli_lane *lane, uint32_t number)
{
    uint32_t i = number / PLI_NODE_N_LANE, chunk = i / PLI_LANE_CHUNK;
    lane->eps[chunk][i % PLI_LANE_CHUNK] = NULL;
    for (uint32_t k = 0; k < PLI_LANE_CHUNK; k++) {
        if (lane->eps[chunk][(i + k) % PLI_LANE_CHUNK] != NULL) {
            return;
        }
    }
    free(lane->eps[chunk]);
    lane->eps[chunk] = NULL;
}

enum pli_err pli_endpoint_create(uint32_t number, struct pli_endpoint **out)
{
    struct pli_lane *lane;
    enum pli_err err = pli_lane_open((int)(number % PLI_NODE_N_LANE), &lane);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_endpoint *ep = calloc(1, sizeof *ep);
    pli_lock_take(&lane->lock);
    struct pli_endpoint **place = ep != NULL ? place_of(lane, number) : NULL;
    if (place != NULL) {
        ep->id = (struct pli_id){ lane->proc, number };
        ep->lane = lane;
        atomic_store_explicit(&ep->refs, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&lane->n_free, 1, memory_order_relaxed);
        *place = ep;
    }
    pli_lock_drop(&lane->lock);
    if (place == NULL) {
        free(ep);
        return pli_fail(PLI_ERR_NOMEM, "no memory for an endpoint");
    }
    *out = ep;
    return PLI_OK;
}

struct pli_endpoint *pli_endpoint_retain(struct pli_endpoint *ep)
{
    atomic_fetch_add_explicit(&ep->refs, 1, memory_order_relaxed);
    return ep;
}

// Messages that were not received and cannot be any more. Context: lane locked.
static void drop_kept(struct pli_endpoint *ep)
{
    while (ep->match.arrival.first != NULL) {
        struct pli_match_item *i = ep->match.arrival.first;
        pli_match_take(&ep->match, i);
        pli_unexpected_destroy(PLI_CONTAINER(i, struct pli_unexpected, item));
    }
}

void pli_endpoint_clone(struct pli_lane *lane)
{
    for (uint32_t k = 0; k < lane->n_chunk; k++) {
        for (int i = 0; lane->eps[k] != NULL && i < PLI_LANE_CHUNK; i++) {
            struct pli_endpoint *ep = lane->eps[k][i];
            if (ep != NULL) {
                drop_kept(ep);
                ep->id.proc = lane->proc;
            }
        }
    }
    lane->held = 0;
    lane->is_full = false;
}

void pli_endpoint_release(struct pli_endpoint *ep)
{
    if (ep == NULL || atomic_fetch_sub_explicit(&ep->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    struct pli_lane *lane = ep->lane;
    pli_lock_take(&lane->lock);
    forget(lane, ep->id.ep); // the number is not used again
    drop_kept(ep);
    pli_match_fini(&ep->match);
    bool is_free = atomic_load_explicit(&ep->n_attached, memory_order_relaxed) == 0;
    bool has_rest = !pli_list_is_empty(&lane->stalled) || !pli_list_is_empty(&lane->streams);
    pli_lock_drop(&lane->lock);
    // Answers that wait for room must go out although their endpoint has left: the lane stays one
    // that anybody looks after.
    if (is_free && !has_rest) {
        atomic_fetch_sub_explicit(&lane->n_free, 1, memory_order_relaxed);
    } else if (!is_free && has_rest) {
        atomic_fetch_add_explicit(&lane->n_free, 1, memory_order_relaxed);
    }
    if (ep->is_crowding) {
        atomic_fetch_sub_explicit(&pli_proc.n_oversubscribed, 1, memory_order_relaxed);
    }
    if (atomic_load_explicit(&ep->n_attached, memory_order_relaxed) != 0) {
        atomic_fetch_sub_explicit(&pli_proc.n_attached, 1, memory_order_relaxed);
    }
    if (ep->buffer != NULL) {
        ep->end_buffer(ep->buffer);
    }
    free(ep);
}

static void attach_one(struct pli_endpoint *ep)
{
    if (atomic_fetch_add_explicit(&ep->n_attached, 1, memory_order_relaxed) == 0) {
        atomic_fetch_sub_explicit(&ep->lane->n_free, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&pli_proc.n_attached, 1, memory_order_relaxed);
    }
}

// False: no thread is attached.
static bool detach_one(struct pli_endpoint *ep)
{
    uint32_t n = atomic_load_explicit(&ep->n_attached, memory_order_relaxed);
    do {
        if (n == 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&ep->n_attached, &n, n - 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (n == 1) {
        atomic_fetch_add_explicit(&ep->lane->n_free, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&pli_proc.n_attached, 1, memory_order_relaxed);
    }
    return true;
}

// The calling thread ends. It will not give its locks back: the thread that wants them next takes
// them away.
static void detach_all(void *list)
{
    struct attachment **head = list, *a = *head;
    *head = NULL;
    while (a != NULL) {
        struct attachment *next = a->next;
        struct pli_endpoint *ep = pli_endpoint_find(a->number);
        if (ep != NULL) { // else it is gone, and with it what it counted
            detach_one(ep);
            pli_lane_wake(ep->lane); // a thread that sleeps may have to look after it
            pli_endpoint_release(ep);
        }
        free(a);
        a = next;
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&at_thread_end, detach_all) == 0;
}

// Take one out of the list of the calling thread.
static void drop_attachment(struct attachment **at)
{
    struct attachment *a = *at;
    *at = a->next;
    pli_lane_attached[a->number % PLI_NODE_N_LANE]--;
    n_attachment--;
    free(a);
}

// Forget the endpoints that were freed while the thread was attached to them.
static void prune(void)
{
    struct attachment **at = &attachments;
    while (*at != NULL) {
        struct pli_endpoint *ep = pli_endpoint_find((*at)->number);
        if (ep == NULL) {
            drop_attachment(at);
        } else {
            pli_endpoint_release(ep);
            at = &(*at)->next;
        }
    }
    prune_at = 64 + 2 * n_attachment;
}

enum pli_err pli_endpoint_attach(struct pli_endpoint *ep)
{
    if (n_attachment >= prune_at) {
        prune();
    }
    struct attachment *a = malloc(sizeof *a);
    pthread_once(&once, make_key);
    if (a != NULL) {
        *a = (struct attachment){ ep->id.ep, attachments };
    }
    if (a == NULL || !has_key || pthread_setspecific(at_thread_end, &attachments) != 0) {
        free(a);
        return pli_fail(PLI_ERR_NOMEM, "no memory to attach a thread to an endpoint");
    }
    attachments = a;
    n_attachment++;
    attach_one(ep);
    mine = ep->id.ep;
    pli_lane_attached[ep->lane->index]++;
    return PLI_OK;
}

bool pli_endpoint_detach(struct pli_endpoint *ep)
{
    if (!detach_one(ep)) {
        return false;
    }
    struct attachment **at = &attachments;
    while (*at != NULL && (*at)->number != ep->id.ep) {
        at = &(*at)->next;
    }
    if (*at != NULL) { // else it is another thread's: that one still looks after the lane
        drop_attachment(at);
    }
    mine = mine == ep->id.ep ? none : mine;
    return true;
}

void pli_endpoint_settle(struct pli_comm *c)
{
    struct pli_lane *lane = c->ep->lane;
    pli_lock_take(&lane->lock);
    int n = c->n_spare;
    c->n_spare = -1;
    pli_lock_drop(&lane->lock);
    for (; n > 0; n--) {
        pli_comm_release(c);
    }
}

struct pli_endpoint *pli_endpoint_find(uint32_t number)
{
    struct pli_lane *lane = pli_proc.lanes[number % PLI_NODE_N_LANE];
    if (lane == NULL) {
        return NULL;
    }
    pli_lock_take(&lane->lock);
    struct pli_endpoint *ep = pli_lane_ep(lane, number);
    uint32_t n = ep != NULL ? atomic_load_explicit(&ep->refs, memory_order_relaxed) : 0;
    while (n != 0 && !atomic_compare_exchange_weak_explicit(
                         &ep->refs, &n, n + 1, memory_order_relaxed, memory_order_relaxed)) {
    }
    pli_lock_drop(&lane->lock);
    return n != 0 ? ep : NULL;
}

struct pli_endpoint *pli_endpoint_mine(void)
{
    return mine != none ? pli_endpoint_find(mine) : NULL;
}
