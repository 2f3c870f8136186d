// SPDX-License-Identifier: BSD-3-Clause
// Hears of the dead and of revoked communicators, and withdraws what can never complete.
#include "core/alarm.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/list.h"
#include "base/log.h"
#include "boot/alarm_wire.h"
#include "boot/boot.h"
#include "core/ep.h"
#include "core/lane.h"
#include "core/mark.h"
#include "core/parcel.h"
#include "core/request.h"
#include "core/salvage.h"
#include "core/transfer.h"
#include "obj/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A writer that lives fills the place it has claimed within nanoseconds, unless it does not get a
// core; one that stays empty for so long belongs to the dead.
enum { HOLE_NS = 500000000, SALVAGE_NS = 100000000 };

static const _Atomic uint32_t none;
const _Atomic uint32_t *pli_alarm_news = &none;
static _Atomic uint32_t heard; // of the news
static bool is_told;           // resizes are, by errors
static const struct pli_alarm_resize *resize;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

uint32_t pli_alarm_failed_at(uint64_t proc)
{
    uint32_t row;
    if (!pli_boot_is_here(&pli_boot, proc, &row)) {
        return 0;
    }
    const struct pli_node_row *r = &pli_boot.node.rows[row];
    bool is = atomic_load_explicit(&r->failure, memory_order_acquire) != 0;
    return is && r->index == (uint32_t)proc ? r->failed_at : 0;
}

static int count_failed(const struct pli_group *g)
{
    int n = 0;
    for (int i = 0; i < g->size; i++) {
        n += pli_alarm_failed_at(pli_group_at(g, i).proc) != 0;
    }
    return n;
}

// What the news means for a communicator. That of the local group of an intercommunicator carries
// the collectives of both.
static void update(struct pli_comm *c, void *arg)
{
    const struct pli_comm *whole = c->outer != NULL ? c->outer : c;
    bool *is_early = arg;
    int n = count_failed(whole->group) + (whole->is_inter ? count_failed(whole->remote) : 0);
    const struct pli_alarm_mark *m = pli_mark_find(whole);
    *is_early = *is_early || whole->context == 0;
    atomic_store_explicit(&c->n_failed, n, memory_order_relaxed);
    if (m != NULL && atomic_load_explicit(&m->is_revoked, memory_order_acquire) != 0) {
        atomic_store_explicit(&c->doom, PLI_ERR_REVOKED, memory_order_relaxed);
        pli_comm_bar(c);
    }
}

// A communicator that is being made may have been revoked by others already.
void pli_alarm_begin(struct pli_comm *c)
{
    bool is_early = false;
    if (pli_alarm_is_due()) {
        update(c, &is_early);
    }
}

PLI_START void pli_alarm_open(void)
{
    uint32_t mode = pli_boot.node.header->mode;
    pli_request_is_mortal = (mode & (PLI_NODE_SURVIVES | PLI_NODE_TELLS)) != 0;
    is_told = (mode & PLI_NODE_TELLS) != 0;
    pli_alarm_news = &pli_boot.node.header->alarm;
    if (pli_request_is_mortal) {
        pli_comm_on_begin(pli_alarm_begin);
        pli_comm_on_end(pli_mark_leave);
    }
}

// How many died up to one that did.
static int count_until(const struct pli_group *g, uint32_t last)
{
    int n = 0;
    for (int i = 0; i < g->size; i++) {
        uint32_t at = pli_alarm_failed_at(pli_group_at(g, i).proc);
        n += at != 0 && at <= last;
    }
    return n;
}

// Whether somebody died whose message might have been waited for, and the program does not know.
static bool has_lost(const struct pli_comm *c)
{
    int n_acked = atomic_load_explicit(&c->n_acked, memory_order_relaxed);
    bool is = atomic_load_explicit(&c->n_failed, memory_order_relaxed) > n_acked;
    if (!is || !c->is_inter) {
        return is;
    }
    is = false;
    for (int i = 0; i < c->n_peer && !is; i++) {
        uint32_t at = pli_alarm_failed_at(pli_group_at(c->remote, i).proc);
        is = at != 0 && count_until(c->group, at) + count_until(c->remote, at) > n_acked;
    }
    return is;
}

enum pli_err pli_alarm_judge(struct pli_lane *lane, const struct pli_request *r, int peer)
{
    const struct pli_comm *c = r->comm;
    uint64_t chan = r->item.context & 3;
    if (c == NULL) {
        return PLI_OK;
    }
    if (atomic_load_explicit(&c->doom, memory_order_relaxed) != 0) {
        return (enum pli_err)atomic_load_explicit(&c->doom, memory_order_relaxed);
    }
    if (atomic_load_explicit(&c->is_left, memory_order_relaxed) == PLI_COMM_LEFT &&
        chan == PLI_CHAN_P2P && (r->flags & PLI_REQ_BLOCKING) != 0) {
        return PLI_ERR_WORLD_RESIZED;
    }
    int n = atomic_load_explicit(&c->n_failed, memory_order_relaxed);
    // Of a collective, and of the making of communicators, nobody can know whom it depends on.
    if (n > 0 && (chan == PLI_CHAN_COLL || (chan == PLI_CHAN_SETUP && r->item.tag < 0))) {
        return PLI_ERR_PROC_FAILED;
    }
    if (peer >= 0 && peer < c->n_peer) {
        return n > 0 && pli_alarm_failed_at(pli_group_at(c->remote, peer).proc) != 0
                   ? PLI_ERR_PROC_FAILED
               : pli_link_is_dead(lane, c, peer) ? PLI_ERR_PROC_ABORTED
                                                 : PLI_OK;
    }
    bool is_open = peer == MPI_ANY_SOURCE && (r->flags & PLI_REQ_BLOCKING) != 0;
    return is_open && has_lost(c) ? PLI_ERR_PROC_FAILED : PLI_OK;
}

bool pli_alarm_is_open_slow(struct pli_request *r)
{
    if (r->comm != NULL &&
        atomic_load_explicit(&r->comm->is_left, memory_order_relaxed) == PLI_COMM_LEFT) {
        return true;
    }
    if ((r->flags & PLI_REQ_SEND) != 0 || r->comm == NULL || r->item.source != MPI_ANY_SOURCE) {
        return false;
    }
    pli_lock_take(&r->lane->lock);
    bool is = (r->state & PLI_REQ_POSTED) != 0 && has_lost(r->comm);
    pli_lock_drop(&r->lane->lock);
    return is;
}

static int peer_of(const struct pli_request *r)
{
    return r->flags & PLI_REQ_SEND ? r->source : r->item.source;
}

static bool is_doomed(struct pli_match_item *i, void *arg)
{
    const struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
    return pli_alarm_judge(arg, r, i->source) != PLI_OK;
}

// Offers between endpoints of one lane are with the receiver.
static void cull_local(struct pli_lane *lane, struct pli_match *m)
{
    struct pli_match_item *i = m->arrival.first;
    while (i != NULL) {
        struct pli_parcel *p = PLI_CONTAINER(i, struct pli_parcel, item);
        struct pli_request *send = p->local;
        enum pli_err err = send != NULL ? pli_alarm_judge(lane, send, send->source) : PLI_OK;
        i = i->later;
        if (err != PLI_OK) {
            pli_match_take(m, &p->item);
            pli_arrive_parcel_destroy(p);
            pli_request_complete(send, err);
        }
    }
}

static void cull_posted(struct pli_lane *lane)
{
    for (uint32_t c = 0; c < lane->n_chunk; c++) {
        for (uint32_t k = 0; lane->eps[c] != NULL && k < PLI_LANE_CHUNK; k++) {
            struct pli_ep *ep = lane->eps[c][k];
            struct pli_match_item *i;
            while (ep != NULL && (i = pli_match_scan(&ep->match, is_doomed, lane)) != NULL) {
                struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
                pli_match_unpost(&ep->match, i);
                r->state &= (uint16_t)~PLI_REQ_POSTED;
                r->source = i->source;
                r->tag = i->tag;
                pli_request_complete(r, pli_alarm_judge(lane, r, i->source));
            }
            if (ep != NULL) {
                cull_local(lane, &ep->match);
            }
        }
    }
}

// Take out of a list what can never complete. Those whose address the other side knows stay in
// memory for ever: it may still name them.
static void cull_list(struct pli_list *list, bool is_known, bool is_dead)
{
    struct pli_list *at = list->next;
    while (at != list) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        enum pli_err err = is_dead ? PLI_ERR_PROC_FAILED : pli_alarm_judge(r->lane, r, peer_of(r));
        at = at->next;
        if (err == PLI_OK) {
            continue;
        }
        if (is_known && !is_dead &&
            (err == PLI_ERR_WORLD_RESIZED || pli_lane_is_within(r->lane, r->conn))) {
            // What was not found yet is asked back: nothing may be lost or doubled, and a thread of
            // this very process may be copying it. What was found is completed.
            if ((r->flags & PLI_REQ_SEND) != 0 && (r->state & PLI_REQ_CANCELLING) == 0) {
                r->err = (int16_t)err;
                pli_rndv_unsend(r);
            }
            continue;
        }
        pli_list_remove(&r->link);
        r->state &= (uint16_t)~PLI_REQ_OPEN;
        r->state |= is_known && !is_dead ? PLI_REQ_GHOST : 0;
        pli_rndv_drop_cursor(r);
        pli_request_complete(r, err);
    }
}

static void drop_notes(struct pli_conn *c)
{
    while (!pli_list_is_empty(&c->notes)) {
        struct pli_list *n = c->notes.next;
        pli_list_remove(n);
        free(n);
    }
}

// Nothing goes there any more. What stands in `pending` sends everybody the long way.
static void bury(struct pli_conn *c)
{
    c->is_dead = true;
    drop_notes(c);
    cull_list(&c->pending, false, true);
    cull_list(&c->open, true, true);
    pli_list_push(&c->pending, &c->grave);
    if (!pli_list_is_empty(&c->stalled)) {
        pli_list_remove(&c->stalled);
    }
}

static bool has_failed(const struct pli_conn *c)
{
    return c->link == NULL && c->gate == NULL && pli_alarm_failed_at(c->key >> 3) != 0;
}

void pli_alarm_meet(struct pli_conn *c)
{
    if (pli_alarm_is_due() && has_failed(c)) {
        bury(c);
    }
}

static void cull_conn(struct pli_conn *c)
{
    if (c->is_dead || c->link != NULL || c->gate != NULL) {
        return;
    }
    if (has_failed(c)) {
        bury(c);
        return;
    }
    cull_list(&c->pending, false, false);
    cull_list(&c->open, true, false);
    if (!pli_list_is_empty(&c->stalled) && pli_list_is_empty(&c->pending) &&
        pli_list_is_empty(&c->notes)) {
        pli_list_remove(&c->stalled);
    }
}

// Sends whose data is being pumped: nobody knows them by name any more.
static void cull_streams(struct pli_lane *lane)
{
    struct pli_list *at = lane->streams.next;
    while (at != &lane->streams) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        enum pli_err err =
            has_failed(r->conn) ? PLI_ERR_PROC_FAILED : pli_alarm_judge(lane, r, peer_of(r));
        at = at->next;
        if (err != PLI_OK) {
            pli_list_remove(&r->link);
            pli_rndv_drop_cursor(r);
            pli_request_complete(r, err);
        }
    }
}

static void cull(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    lane->n_dead++;
    cull_streams(lane);
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        for (struct pli_conn *c = lane->conns[b]; c != NULL; c = c->next) {
            cull_conn(c);
        }
    }
    cull_posted(lane);
    lane->salvage_ns = pli_clock_ns();
    pli_salvage_blocks(lane);
    pli_lock_drop(&lane->lock);
    pli_lane_stir(lane);
}

void pli_alarm_cull(void)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            cull(lane);
        }
    }
}

static void hear(void)
{
    pthread_mutex_lock(&guard);
    uint32_t news = atomic_load_explicit(pli_alarm_news, memory_order_acquire);
    if (news != atomic_load_explicit(&heard, memory_order_relaxed)) {
        bool is_early = false;
        pli_comm_visit(update, &is_early);
        pli_alarm_cull();
        if (!is_early) { // else it may be about a communicator whose context is yet to come
            atomic_store_explicit(&heard, news, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&guard);
}

bool pli_alarm_is_blocked(struct pli_lane *lane)
{
    if (!pli_alarm_is_due()) {
        return false;
    }
    pli_lock_take(&lane->lock);
    bool is = pli_shm_has_hole(&lane->shm);
    pli_lock_drop(&lane->lock);
    return is;
}

// A process may have died between claiming a place in the mailbox and filling it, and with blocks
// that are missing now.
static void put_right(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    if ((!pli_list_is_empty(&lane->stalled) || !pli_list_is_empty(&lane->streams)) &&
        pli_clock_ns() - lane->salvage_ns > SALVAGE_NS) {
        lane->salvage_ns = pli_clock_ns();
        pli_salvage_blocks(lane);
    }
    if (!pli_shm_has_hole(&lane->shm)) {
        lane->hole_ns = 0;
    } else if (lane->hole_ns == 0 || lane->hole_at != lane->shm.head) {
        lane->hole_ns = pli_clock_ns();
        lane->hole_at = lane->shm.head;
    } else if (pli_clock_ns() - lane->hole_ns > HOLE_NS) {
        pli_log(PLI_INFO, "skipped a message that its sender died over");
        lane->hole_ns = 0;
        pli_shm_next(&lane->shm);
    }
    pli_lock_drop(&lane->lock);
}

static bool is_new(void)
{
    return atomic_load_explicit(pli_alarm_news, memory_order_relaxed) !=
           atomic_load_explicit(&heard, memory_order_relaxed);
}

void pli_alarm_look(struct pli_lane *lane)
{
    if (is_new()) {
        hear();
    }
    if (is_told) {
        resize->hear();
    }
    if (atomic_load_explicit(&pli_boot.node.header->n_failed, memory_order_relaxed) != 0) {
        put_right(lane);
    }
}

// "was killed by signal 9, SIGKILL"
static void say_how(uint32_t failure, char *to, size_t cap)
{
    int n = (int)(failure & PLI_ALARM_NUMBER);
    switch (failure & ~(uint32_t)PLI_ALARM_NUMBER) {
    case PLI_ALARM_SIGNAL:
        snprintf(to, cap, "was killed by signal %d, SIG%s", n,
                 sigabbrev_np(n) != NULL ? sigabbrev_np(n) : "?");
        break;
    case PLI_ALARM_EXIT:
        snprintf(to, cap, "ended with exit status %d and without MPI_Finalize", n);
        break;
    default:
        snprintf(to, cap, "died");
        break;
    }
}

struct list {
    char *to;
    size_t at, cap;
    int n_more;
};

// "rank 2 (process 4711 on host here) was killed by ...", of as many as there is room for.
static void say_failed(const struct pli_group *g, const char *where, struct list *l)
{
    const struct pli_node *node = &pli_boot.node;
    for (int i = 0; i < g->size; i++) {
        uint32_t row;
        struct pli_id id = pli_group_at(g, i);
        if (pli_alarm_failed_at(id.proc) == 0 || !pli_boot_is_here(&pli_boot, id.proc, &row)) {
            continue;
        }
        char how[80];
        say_how(atomic_load_explicit(&node->rows[row].failure, memory_order_relaxed), how,
                sizeof how);
        if (l->cap - l->at > 200) {
            l->at += (size_t)snprintf(
                l->to + l->at, l->cap - l->at, "%srank %d%s (process %u on host %.40s) %s",
                l->at > 0 ? "; " : "", i, where, node->rows[row].pid, node->header->host, how);
        } else {
            l->n_more++;
        }
    }
}

enum pli_err pli_alarm_explain(enum pli_err err, const char *what, const struct pli_comm *c)
{
    char who[440] = "";
    struct list l = { who, 0, sizeof who, 0 };
    c = c->outer != NULL ? c->outer : c;
    if (err == PLI_ERR_WORLD_RESIZED) {
        enum pli_err told = resize->tell((struct pli_comm *)(uintptr_t)c);
        return told != PLI_OK ? told : pli_fail(err, "the world was resized");
    }
    if (err == PLI_ERR_REVOKED) {
        return pli_fail(err, "%s on %s failed: the communicator was revoked (MPIX_Comm_revoke)",
                        what, pli_comm_say(c));
    }
    say_failed(c->remote, c->is_inter ? " of the remote group" : "", &l);
    if (c->is_inter) {
        say_failed(c->group, " of the local group", &l);
    }
    if (l.n_more > 0) {
        snprintf(who + l.at, sizeof who - l.at, "; and %d more", l.n_more);
    }
    return pli_fail(err, "%s on %s failed: %s", what, pli_comm_say(c),
                    who[0] != '\0' ? who : pli_err_text(err));
}

enum pli_err pli_alarm_refuse(const char *what, const struct pli_comm *c)
{
    int doom = atomic_load_explicit(&c->doom, memory_order_relaxed);
    int n = atomic_load_explicit(&c->n_failed, memory_order_relaxed);
    bool is_left = atomic_load_explicit(&c->is_left, memory_order_relaxed) == PLI_COMM_LEFT;
    enum pli_err err = doom != 0 ? (enum pli_err)doom
                       : is_left ? PLI_ERR_WORLD_RESIZED
                       : n > 0   ? PLI_ERR_PROC_FAILED
                                 : PLI_OK;
    return err == PLI_OK ? PLI_OK : pli_alarm_explain(err, what, c);
}

enum pli_err pli_alarm_enter(const char *what, struct pli_comm *c)
{
    if (is_new()) {
        pli_alarm_look(c->ep->lane); // those who are never idle look here
    }
    if (!is_told) {
        return pli_alarm_refuse(what, c);
    }
    uint32_t n = atomic_fetch_add_explicit(&c->n_begun, 1, memory_order_seq_cst) + 1;
    bool is_left = atomic_load_explicit(&c->is_left, memory_order_seq_cst) != 0;
    enum pli_err err = is_left ? resize->enter(c, n) : PLI_OK;
    return err != PLI_OK ? err : pli_comm_is_stopped(c) ? pli_alarm_refuse(what, c) : PLI_OK;
}

void pli_alarm_on_resize(const struct pli_alarm_resize *ops)
{
    resize = ops;
}

enum pli_err pli_alarm_revoke(struct pli_comm *c)
{
    struct pli_node_header *h = pli_boot.node.header;
    struct pli_alarm_mark *m;
    if (c->is_span) {
        return pli_comm_refuse_span(c, "revocation");
    }
    if ((h->mode & PLI_NODE_SURVIVES) == 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "nobody would hear of it: start the job with mpiexec --on-failure=shrink");
    }
    enum pli_err err = pli_mark_make(c, &m);
    if (err != PLI_OK) {
        return err;
    }
    if (atomic_exchange_explicit(&m->is_revoked, 1, memory_order_acq_rel) == 0) {
        atomic_fetch_add_explicit(&h->alarm, 1, memory_order_seq_cst);
        pli_shm_wake_node(&pli_boot.node);
    }
    // Who revokes at the same time may have come before us, and may not have told yet.
    pthread_mutex_lock(&guard);
    pli_alarm_begin(c);
    pthread_mutex_unlock(&guard);
    pli_alarm_look(c->ep->lane);
    return PLI_OK;
}
