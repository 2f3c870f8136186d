// SPDX-License-Identifier: BSD-3-Clause
// Goes through all that is under way, and asks of each operation whether it can complete.
#include "ft/fail_ops.h"

#include "base/clock.h"
#include "boot/boot.h"
#include "ft/failure.h"
#include "ft/reclaim.h"
#include "msg/endpoint.h"
#include "msg/event.h"
#include "msg/lane.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "msg/unexpected.h"
#include "net/net.h"

#include <stdlib.h>

static int peer_of(const struct pli_request *r)
{
    return r->flags & PLI_REQ_SEND ? r->source : r->item.source;
}

static bool can_never_complete(struct pli_match_item *i, void *arg)
{
    const struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
    return pli_failure_judge(arg, r, i->source) != PLI_OK;
}

// Offers between endpoints of one lane are with the receiver.
static void fail_local(struct pli_lane *lane, struct pli_match *m)
{
    struct pli_match_item *i = m->arrival.first;
    while (i != NULL) {
        struct pli_unexpected *p = PLI_CONTAINER(i, struct pli_unexpected, item);
        struct pli_request *send = p->local;
        enum pli_err err = send != NULL ? pli_failure_judge(lane, send, send->source) : PLI_OK;
        i = i->later;
        if (err != PLI_OK) {
            pli_match_take(m, &p->item);
            pli_unexpected_destroy(p);
            pli_request_complete(send, err);
        }
    }
}

static void fail_posted(struct pli_lane *lane)
{
    for (uint32_t c = 0; c < lane->n_chunk; c++) {
        for (uint32_t k = 0; lane->eps[c] != NULL && k < PLI_LANE_CHUNK; k++) {
            struct pli_endpoint *ep = lane->eps[c][k];
            struct pli_match_item *i;
            while (ep != NULL &&
                   (i = pli_match_scan(&ep->match, can_never_complete, lane)) != NULL) {
                struct pli_request *r = PLI_CONTAINER(i, struct pli_request, item);
                pli_match_unpost(&ep->match, i);
                r->state &= (uint16_t)~PLI_REQ_POSTED;
                r->source = i->source;
                r->tag = i->tag;
                pli_request_complete(r, pli_failure_judge(lane, r, i->source));
            }
            if (ep != NULL) {
                fail_local(lane, &ep->match);
            }
        }
    }
}

static bool has_failed(const struct pli_conn *c)
{
    return pli_failure_failed_at(c->key >> 3) != 0;
}

void pli_fail_ops_meet(struct pli_conn *c)
{
    if (pli_failure_is_due() && has_failed(c)) {
        c->ops->fail(c, true);
    }
}

// Sends whose data goes out in pieces: they are in no other list.
static void fail_streams(struct pli_lane *lane)
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

static void fail_lane(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    lane->n_dead++;
    lane->net->ops->poll(lane->net, PLI_NET_POLL_ALL); // what the dead had sent is to be had
    fail_streams(lane);
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        for (struct pli_conn *c = lane->conns[b]; c != NULL; c = c->next) {
            if (!c->is_dead) {
                c->ops->fail(c, has_failed(c));
            }
        }
    }
    fail_posted(lane);
    lane->reclaim_ns = pli_clock_ns();
    pli_reclaim_blocks(lane);
    pli_lock_drop(&lane->lock);
    pli_lane_wake(lane);
}

// A tool may want to know how many processes have failed.
static void raise_event(void)
{
    static _Atomic uint32_t n_told;
    uint32_t n = atomic_load_explicit(&pli_boot.node.header->n_failed, memory_order_relaxed);
    if (atomic_exchange(&n_told, n) != n && pli_event_is_wanted(PLI_EVENT_FAILURE)) {
        pli_event_raise(NULL, PLI_EVENT_FAILURE, (int64_t[PLI_EVENT_N_WORD]){ n });
    }
}

void pli_fail_ops_all(void)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            fail_lane(lane);
        }
    }
    raise_event();
}
