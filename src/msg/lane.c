// SPDX-License-Identifier: BSD-3-Clause
// Opens lanes, finds connections, numbers endpoints.
#include "msg/lane.h"

#include "base/conf.h"
#include "base/cpu.h"
#include "boot/boot.h"
#include "ckpt/freeze.h"
#include "ckpt/freeze_hold.h"
#include "msg/endpoint.h"
#include "msg/failure_hooks.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "msg/unexpected.h"
#include "net/net.h"
#include "net/shm/other_job.h"
#include "net/shm/shm_sleep.h"

#include <pthread.h>
#include <stdlib.h>

struct pli_proc pli_proc;
_Thread_local uint32_t pli_lane_attached[PLI_NODE_N_LANE];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

// This process may be a copy of itself that was just made: the kernel knows nothing of it.
static void freeze(bool is_leaving)
{
    pli_handle_park(is_leaving);
    if (!is_leaving) {
        atomic_fetch_add(&pli_statistics_n_checkpoint, 1);
        pli_shm_again(&pli_proc.boot->node);
    }
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *l = atomic_load(&pli_proc.lanes[i]);
        if (l != NULL) {
            l->net->ops->freeze(l->net, is_leaving);
        }
    }
}

// The transports' parts of a lane.
static enum pli_err open_nets(struct pli_lane *lane)
{
    enum pli_err err = PLI_OK;
    for (const struct pli_net_ops *const *n = pli_proc.nets; *n != NULL && err == PLI_OK; n++) {
        err = (*n)->open(lane);
    }
    return err;
}

// Take a connection out of the table and end it.
static void drop_conn(struct pli_lane *lane, struct pli_conn **at)
{
    struct pli_conn *c = *at;
    *at = c->next;
    lane->n_conn--;
    if (lane->cache[pli_lane_slot(c->key)] == c) {
        lane->cache[pli_lane_slot(c->key)] = NULL;
    }
    free(c);
}

static bool offers_copy(const struct pli_conn *c)
{
    const struct pli_list *at = c->open.next;
    while (at != &c->open &&
           (PLI_CONTAINER(at, struct pli_request, link)->flags & PLI_REQ_LATE) == 0) {
        at = at->next;
    }
    return at != &c->open;
}

// Whether the process at the other end has not ended, as far as is known.
static bool is_live(const struct pli_conn *c)
{
    uint64_t proc = c->key >> 3;
    uint32_t row;
    return pli_node_job_of(proc) != pli_proc.boot->job   ? !pli_other_job_has_ended(proc)
           : pli_boot_is_here(pli_proc.boot, proc, &row) ? pli_boot_is_live(pli_proc.boot, proc)
                                                         : true;
}

// A small message of which a copy has yet to be fetched.
static bool has_copy(const struct pli_lane *lane)
{
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        for (const struct pli_conn *c = lane->conns[b]; c != NULL; c = c->next) {
            if (offers_copy(c) && is_live(c)) {
                return true;
            }
        }
    }
    return false;
}

bool pli_lane_has_unsent(const struct pli_lane *lane, bool is_leaving)
{
    bool has = is_leaving && has_copy(lane);
    for (const struct pli_list *at = lane->stalled.next; at != &lane->stalled && !has;
         at = at->next) {
        has = is_live(PLI_CONTAINER(at, struct pli_conn, stalled));
    }
    for (const struct pli_list *at = lane->streams.next; at != &lane->streams && !has;
         at = at->next) {
        has = is_live(PLI_CONTAINER(at, struct pli_request, link)->conn);
    }
    return has;
}

// Whether a message that waits for its receive came this way.
static bool has_kept(const struct pli_lane *lane, const struct pli_conn *c)
{
    for (uint32_t k = 0; k < lane->n_chunk * PLI_LANE_CHUNK; k++) {
        const struct pli_endpoint *ep = pli_lane_ep(lane, k * PLI_NODE_N_LANE);
        const struct pli_match_item *i = ep != NULL ? ep->match.arrival.first : NULL;
        for (; i != NULL; i = i->later) {
            if (PLI_CONTAINER(i, struct pli_unexpected, item)->conn == c) {
                return true;
            }
        }
    }
    return false;
}

// Whether something under way names a connection.
static bool is_used(const struct pli_lane *lane, const struct pli_conn *c)
{
    bool is = !pli_list_is_empty(&c->stalled) || !pli_list_is_empty(&c->open);
    for (const struct pli_list *at = lane->streams.next; at != &lane->streams && !is;
         at = at->next) {
        is = PLI_CONTAINER(at, struct pli_request, link)->conn == c;
    }
    return is || has_kept(lane, c);
}

// End the connections of a lane to the processes of another job. Context: lane locked.
static bool forget_job_at(struct pli_lane *lane, uint64_t job)
{
    bool is_clean = true;
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        struct pli_conn **at = &lane->conns[b];
        while (*at != NULL) {
            struct pli_conn *c = *at;
            bool is_theirs = pli_node_job_of(c->key >> 3) == job;
            if (is_theirs && !is_used(lane, c)) {
                drop_conn(lane, at);
            } else {
                is_clean = is_clean && !is_theirs;
                at = &c->next;
            }
        }
    }
    return is_clean;
}

// The connections to the processes of another job end. False: something is under way.
static bool forget_job(uint64_t job)
{
    bool is_free = true;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            pli_lock_take(&lane->lock);
            is_free = forget_job_at(lane, job) && is_free;
            pli_lock_drop(&lane->lock);
        }
    }
    return is_free;
}

// Context: guard held.
static enum pli_err open_new(int index, struct pli_lane **out)
{
    struct pli_boot *boot = pli_proc.boot;
    struct pli_lane *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a lane");
    }
    pli_freeze_on_move(freeze);
    if (index == 0) { // once, before the threads of other lanes read what it sets
        pli_failure_hooks->open();
        pli_other_job_on_end(forget_job);
    }
    enum pli_err err = pli_shm_open(&l->shm, &boot->node, boot->row, index);
    if (err != PLI_OK) {
        free(l);
        return err;
    }
    l->index = index;
    l->net = &pli_net_none;
    l->proc = pli_proc.id;
    l->requests =
        (struct pli_handle_pool){ .kind = PLI_KIND_REQUEST, .size = sizeof(struct pli_request) };
    pli_list_init(&l->streams);
    pli_list_init(&l->stalled);
    pli_list_init(&l->pollers);
    pli_list_init(&l->tasks);
    const struct pli_statistics_hooks *hooks = atomic_load(&pli_statistics_hooks);
    pli_lane_set_fast(l);
    if (hooks != NULL) {
        hooks->open(l);
    }
    err = open_nets(l);
    if (err != PLI_OK) {
        free(l);
        return err;
    }
    atomic_store_explicit(&pli_proc.lanes[index], l, memory_order_release);
    atomic_fetch_add_explicit(&pli_proc.n_open, 1, memory_order_release);
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *other = atomic_load_explicit(&pli_proc.lanes[i], memory_order_relaxed);
        if (other != NULL && i != index) {
            pli_lane_wake(
                other); // a thread that sleeps there for long must look after this one too
        }
    }
    _Atomic uint32_t *n_lane = &boot->node.rows[boot->row].n_lane; // only guarded threads write it
    if (atomic_load_explicit(n_lane, memory_order_relaxed) <= (uint32_t)index) {
        atomic_store_explicit(n_lane, (uint32_t)index + 1, memory_order_release);
    }
    *out = l;
    return PLI_OK;
}

PLI_START enum pli_err pli_lane_open(int index, struct pli_lane **out)
{
    *out = atomic_load_explicit(&pli_proc.lanes[index], memory_order_acquire);
    if (*out != NULL) {
        return PLI_OK;
    }
    pthread_mutex_lock(&guard);
    pli_freeze_hold(); // a checkpoint knows only the sockets of lanes that are in the table
    *out = pli_proc.lanes[index];
    enum pli_err err = *out != NULL ? PLI_OK : open_new(index, out);
    pli_freeze_let();
    pthread_mutex_unlock(&guard);
    return err;
}

static uint64_t fast_end(const struct pli_lane *lane, int64_t most)
{
    return lane->statistics != NULL   ? 0 // it counts nothing
           : most < PLI_SHM_BLOCK_MAX ? (uint64_t)most + 1
                                      : PLI_SHM_BLOCK_MAX + 1;
}

void pli_lane_set_fast(struct pli_lane *lane)
{
    lane->fast_end = fast_end(lane, pli_conf.eager_max);
    lane->coll_fast_end = fast_end(lane, pli_conf.coll_eager_max);
}

void pli_lane_defer(struct pli_lane *lane, struct pli_task *t)
{
    pli_list_push(&lane->tasks, &t->link);
    pli_lane_wake(lane); // the thread that left it may not poll again
}

void pli_lane_wake_net(struct pli_lane *lane)
{
    lane->net->ops->wake(lane->net);
}

void pli_lane_note(struct pli_conn *c, int kind, uint64_t w0, uint64_t w1, uint64_t w2)
{
    c->ops->note(c, kind, (const uint64_t[3]){ w0, w1, w2 });
}

static bool grow_conns(struct pli_lane *lane)
{
    uint32_t n = lane->n_bucket == 0 ? 16 : lane->n_bucket * 4;
    struct pli_conn **fresh = calloc(n, sizeof *fresh);
    if (fresh == NULL) {
        return false;
    }
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        struct pli_conn *c = lane->conns[b];
        while (c != NULL) {
            struct pli_conn *next = c->next;
            c->next = fresh[c->key % n];
            fresh[c->key % n] = c;
            c = next;
        }
    }
    free(lane->conns);
    lane->conns = fresh;
    lane->n_bucket = n;
    return true;
}

// Whether no process can name it any more: its row is another's by now, or it was spawned, has
// ended, and no process of another world has a communicator with it, though one had. (Before that a
// spawn may be under way, whose messages know the way.)
static bool is_left(uint32_t index)
{
    const struct pli_node *node = &pli_proc.boot->node;
    uint32_t row = pli_node_row_of(node, index);
    const struct pli_node_row *r = row != UINT32_MAX ? &node->rows[row] : NULL;
    return r == NULL ||
           (row >= node->header->n_row && r->version == 0 && r->world != pli_proc.boot->world &&
            atomic_load_explicit(&r->has_ended, memory_order_acquire) != 0 &&
            atomic_load_explicit(&r->was_held, memory_order_acquire) != 0 &&
            atomic_load_explicit(&r->n_held, memory_order_acquire) == 0);
}

// Forget the connections to those.
static void drop_stale(struct pli_lane *lane)
{
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        struct pli_conn **at = &lane->conns[b];
        while (*at != NULL) {
            struct pli_conn *c = *at;
            uint64_t proc = c->key >> 3;
            if (pli_node_job_of(proc) == pli_proc.boot->job && pli_list_is_empty(&c->stalled) &&
                is_left((uint32_t)proc) && c->ops->disconnect(c)) {
                drop_conn(lane, at);
            } else {
                at = &c->next;
            }
        }
    }
}

// Which transport reaches a process; false: none, or there is no memory.
static bool connect(struct pli_conn *c, uint64_t proc)
{
    enum pli_err err = PLI_ERR_UNSUPPORTED;
    for (const struct pli_net_ops *const *n = pli_proc.nets;
         *n != NULL && err == PLI_ERR_UNSUPPORTED; n++) {
        c->ops = *n;
        err = (*n)->connect(c, proc);
    }
    return err == PLI_OK;
}

// First contact. The other side needs to know nothing of it.
static struct pli_conn *make_conn(struct pli_lane *lane, uint64_t key)
{
    if (lane->n_conn >= lane->n_bucket) {
        drop_stale(lane);
    }
    if (lane->n_conn >= lane->n_bucket && !grow_conns(lane) && lane->n_bucket == 0) {
        return NULL;
    }
    struct pli_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->key = key;
    c->lane = lane;
    c->proc = (uint32_t)(key >> 3);
    c->as = (uint32_t)lane->proc;
    c->peer_lane = (uint8_t)(key & (PLI_NODE_N_LANE - 1));
    pli_list_init(&c->pending);
    pli_list_init(&c->notes);
    pli_list_init(&c->stalled);
    pli_list_init(&c->open);
    if (!connect(c, key >> 3)) {
        free(c);
        return NULL;
    }
    c->next = lane->conns[key % lane->n_bucket];
    lane->conns[key % lane->n_bucket] = c;
    lane->n_conn++;
    const struct pli_statistics_hooks *hooks = atomic_load(&pli_statistics_hooks);
    if (hooks != NULL) {
        hooks->connected(c);
    }
    pli_failure_hooks->meet(c);
    return c;
}

struct pli_conn *pli_lane_conn_find(struct pli_lane *lane, uint64_t key)
{
    struct pli_conn *c = lane->n_bucket == 0 ? NULL : lane->conns[key % lane->n_bucket];
    while (c != NULL && c->key != key) {
        c = c->next;
    }
    if (c == NULL) {
        c = make_conn(lane, key);
    }
    if (c != NULL) {
        lane->cache[pli_lane_slot(key)] = c;
    }
    return c;
}

void pli_lane_leave(struct pli_lane *lane)
{
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        while (lane->conns[b] != NULL) {
            drop_conn(lane, &lane->conns[b]);
        }
    }
    for (const struct pli_net_ops *const *n = pli_proc.nets; *n != NULL; n++) {
        (*n)->leave(lane);
    }
}

enum pli_err pli_lane_clone(struct pli_lane *lane)
{
    struct pli_boot *boot = pli_proc.boot;
    pli_failure_hooks->move();
    lane->proc = pli_proc.id;
    lane->n_dead = 0;
    lane->hole_ns = 0;
    enum pli_err err = pli_shm_open(&lane->shm, &boot->node, boot->row, lane->index);
    if (err != PLI_OK) {
        return err;
    }
    pli_freeze_hold(); // as in pli_lane_open
    err = open_nets(lane);
    pli_freeze_let();
    if (err != PLI_OK) {
        return err;
    }
    atomic_store_explicit(&lane->n_sleep, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->n_wait, 0, memory_order_relaxed);
    _Atomic uint32_t *n_lane = &boot->node.rows[boot->row].n_lane;
    if (atomic_load_explicit(n_lane, memory_order_relaxed) <= (uint32_t)lane->index) {
        atomic_store_explicit(n_lane, (uint32_t)lane->index + 1, memory_order_release);
    }
    return PLI_OK;
}
