// SPDX-License-Identifier: BSD-3-Clause
// Goes through all that is under way, and asks of each operation whether it can complete.
#include "ft/fail_ops.h"

#include "base/clock.h"
#include "base/list.h"
#include "boot/boot.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "net/tcp/tcp_conn.h"
#include "msg/unexpected.h"
#include "msg/request.h"
#include "ft/reclaim.h"
#include "msg/protocol.h"

#include <stdlib.h>

static int peer_of(const struct pli_request *r)
{
    return r->flags & PLI_REQ_SEND ? r->source : r->item.source;
}

static bool is_doomed(struct pli_match_item *i, void *arg)
{
    const struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
    return pli_failure_judge(arg, r, i->source) != PLI_OK;
}

// Offers between endpoints of one lane are with the receiver.
static void cull_local(struct pli_lane *lane, struct pli_match *m)
{
    struct pli_match_item *i = m->arrival.first;
    while (i != NULL) {
        struct pli_unexpected *p = PLI_CONTAINER(i, struct pli_unexpected, item);
        struct pli_request *send = p->local;
        enum pli_err err = send != NULL ? pli_failure_judge(lane, send, send->source) : PLI_OK;
        i = i->later;
        if (err != PLI_OK) {
            pli_match_take(m, &p->item);
            pli_deliver_parcel_destroy(p);
            pli_request_complete(send, err);
        }
    }
}

static void cull_posted(struct pli_lane *lane)
{
    for (uint32_t c = 0; c < lane->n_chunk; c++) {
        for (uint32_t k = 0; lane->eps[c] != NULL && k < PLI_LANE_CHUNK; k++) {
            struct pli_endpoint *ep = lane->eps[c][k];
            struct pli_match_item *i;
            while (ep != NULL && (i = pli_match_scan(&ep->match, is_doomed, lane)) != NULL) {
                struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
                pli_match_unpost(&ep->match, i);
                r->state &= (uint16_t)~PLI_REQ_POSTED;
                r->source = i->source;
                r->tag = i->tag;
                pli_request_complete(r, pli_failure_judge(lane, r, i->source));
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
        enum pli_err err =
            is_dead ? PLI_ERR_PROC_FAILED : pli_failure_judge(r->lane, r, peer_of(r));
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
    return c->gate == NULL && pli_failure_failed_at(c->key >> 3) != 0;
}

void pli_fail_ops_meet(struct pli_conn *c)
{
    if (!pli_failure_is_due() || !has_failed(c)) {
        return;
    }
    if (c->link != NULL) {
        pli_tcp_fail(c->link, true);
    } else {
        bury(c);
    }
}

static void cull_conn(struct pli_conn *c)
{
    if (c->is_dead || c->gate != NULL) {
        return;
    }
    if (c->link != NULL) {
        pli_tcp_fail(c->link, has_failed(c));
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
            has_failed(r->conn) ? PLI_ERR_PROC_FAILED : pli_failure_judge(lane, r, peer_of(r));
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
    if (lane->net != NULL) { // what the dead had sent is to be had
        atomic_store_explicit(&lane->net->must_look, 1, memory_order_relaxed);
        pli_tcp_lane_poll(lane->net);
    }
    cull_streams(lane);
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        for (struct pli_conn *c = lane->conns[b]; c != NULL; c = c->next) {
            cull_conn(c);
        }
    }
    cull_posted(lane);
    lane->salvage_ns = pli_clock_ns();
    pli_reclaim_blocks(lane);
    pli_lock_drop(&lane->lock);
    pli_lane_stir(lane);
}

void pli_fail_ops_all(void)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            cull(lane);
        }
    }
}
