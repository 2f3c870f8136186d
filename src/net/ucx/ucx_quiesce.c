// SPDX-License-Identifier: BSD-3-Clause
// Leaves UCX: messages go over the TCP connections again. The side that leaves says how many
// messages it has sent by UCX, and writes all others behind that; the other side does the same, and
// puts off what comes there until it has the messages of before. When each knows that the other has
// everything, the connection between the two workers is closed; when a lane has none left its
// worker is closed, and UCX with the last worker.
//
// Returning to UCX is connecting anew, with one difference: messages have gone over TCP before. So
// nothing goes by UCX until the other side has said that it has read up to the new address.
//
// All of it happens in calls of MPI: UCX cannot be used in a signal handler.
#include "net/ucx/ucx_quiesce.h"

#include "base/clock.h"
#include "base/log.h"
#include "ckpt/freeze.h"
#include "msg/lane.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_lane.h"
#include "net/tcp/tcp_recv.h"
#include "msg/progress.h"
#include "net/ucx/ucx_conn.h"
#include "msg/msg_wire.h"
#include "net/shm/shm_sleep.h"

enum { FREEZE_NS = 2000000000 }; // a launcher that wants to freeze this process says so every 20 ms

static _Atomic int n_open;            // workers of this process
static _Atomic int n_ask;             // callers that want none
static _Atomic uint64_t freeze_until; // or the launcher does; 0: it does not

bool pli_ucx_quiesce_is_wanted(void)
{
    uint64_t until = atomic_load_explicit(&freeze_until, memory_order_relaxed);
    return atomic_load_explicit(&n_ask, memory_order_relaxed) > 0 ||
           (until != 0 && pli_clock_ns() < until) || pli_freeze_is_moving();
}

bool pli_ucx_quiesce_is_done(void)
{
    return atomic_load(&n_open) == 0;
}

void pli_ucx_quiesce_count(int n)
{
    atomic_fetch_add(&n_open, n);
}

static void wake(struct pli_ucx_worker *u)
{
    u->is_quiescing = true;
    atomic_store_explicit(&u->net->must_look, 1, memory_order_relaxed);
}

bool pli_ucx_quiesce_is_due(struct pli_tcp_lane *net)
{
    if (!net->ucx->is_quiescing &&
        (atomic_load_explicit(&net->must_look, memory_order_relaxed) == 0 ||
         !pli_ucx_quiesce_is_wanted())) {
        return false;
    }
    wake(net->ucx);
    return true;
}

static void wake_lanes(void)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = atomic_load(&pli_proc.lanes[i]);
        if (lane != NULL && pli_tcp_lane_of(lane) != NULL && pli_tcp_lane_of(lane)->ucx != NULL) {
            atomic_store_explicit(&pli_tcp_lane_of(lane)->must_look, 1, memory_order_relaxed);
            pli_shm_wake(lane->shm.box);
        }
    }
}

static bool has_far_memory(void)
{
    bool has = false;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = atomic_load(&pli_proc.lanes[i]);
        has =
            has || (lane != NULL && pli_tcp_lane_of(lane) != NULL &&
                    pli_tcp_lane_of(lane)->ucx != NULL && pli_tcp_lane_of(lane)->ucx->n_region > 0);
    }
    return has;
}

void pli_ucx_quiesce_close(bool is_over)
{
    static bool is_left; // one process, one end at a time
    if (!is_over) {
        is_left = pli_freeze_is_open() && pli_ucx_quiesce_begin();
    } else if (is_left) {
        pli_ucx_quiesce_end();
    }
}

bool pli_ucx_quiesce_begin(void)
{
    if (has_far_memory()) {
        return false;
    }
    atomic_fetch_add(&n_ask, 1);
    wake_lanes();
    struct pli_waiter w = { .lane = pli_proc.lanes[0], .is_restless = true };
    while (!pli_ucx_quiesce_is_done()) {
        for (int i = 1; i < PLI_NODE_N_LANE; i++) {
            struct pli_lane *lane = pli_proc.lanes[i];
            if (lane != NULL) {
                pli_progress_once(lane);
            }
        }
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return true;
}

void pli_ucx_quiesce_end(void)
{
    atomic_fetch_sub(&n_ask, 1);
    wake_lanes();
}

// Context: a signal handler.
static bool ask_to_freeze(void)
{
    atomic_store(&freeze_until, pli_clock_ns() + FREEZE_NS);
    if (!pli_ucx_quiesce_is_done()) {
        wake_lanes();
    }
    return pli_ucx_quiesce_is_done();
}

void pli_ucx_quiesce_thawed(void)
{
    atomic_store(&freeze_until, 0);
}

void pli_ucx_quiesce_open(void)
{
    pli_freeze_on_ask(ask_to_freeze);
}

bool pli_ucx_quiesce_is_behind(const struct pli_tcp_conn *tc)
{
    return tc->ucx->is_peer_leaving && !tc->ucx->has_caught_up;
}

static void begin(struct pli_tcp_conn *tc, bool is_initiator)
{
    struct pli_ucx_conn *x = tc->ucx;
    x->phase = PLI_UCX_CONN_LEAVING;
    x->is_initiator = is_initiator;
    x->has_said_left = x->has_peer_left = false;
    x->is_address_sent = true;
    pli_ucx_conn_set_waiting(x, false);
    if (tc->state == PLI_TCP_CONN_UP) {
        pli_tcp_conn_note(tc, PLI_MSG_UCX_LEAVE, x->n_out, 0, 0);
    }
    pli_ucx_conn_leave(tc);
    wake(x->lane);
}

static void end(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (x->peer != NULL) {
        pli_ucx_disconnect(x->peer);
        x->peer = NULL;
        x->lane->n_connected--;
    }
    x->phase = PLI_UCX_CONN_CLOSED;
    x->is_peer_leaving = x->has_caught_up = x->is_refused = x->is_broken = x->has_bye = false;
    x->n_out = x->n_in = x->n_sent = x->n_asked_for = x->n_seen = 0;
    wake(x->lane);
}

static void step(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (pli_ucx_quiesce_is_behind(tc) && x->n_in == x->n_before_leave) {
        x->has_caught_up = true;
        pli_tcp_recv_catch_up(tc);
    }
    if (!pli_list_is_empty(&x->ops) || x->n_access > 0) {
        return;
    }
    if (tc->state == PLI_TCP_CONN_UP && !tc->has_left) {
        if (!x->has_caught_up) {
            return;
        }
        if (!x->has_said_left) {
            x->has_said_left = true;
            pli_tcp_conn_note(tc, PLI_MSG_UCX_LEFT, 0, 0, 0);
        }
        if (!x->has_peer_left) {
            return;
        }
    }
    end(tc);
}

// By UCX again, as soon as both sides have met.
static void come_back(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (tc->state >= PLI_TCP_CONN_LOST) {
        return;
    }
    x->phase = PLI_UCX_CONN_OPEN;
    x->is_initiator = x->is_peer_ready = x->is_address_sent = false;
    x->is_reconnect = tc->state == PLI_TCP_CONN_UP;
    tc->by_ucx = true;
    if (tc->net->active != NULL && tc->net->active->owner == tc) {
        pli_tcp_lane_set_active(tc->net, NULL);
    }
    pli_tcp_conn_push(tc);
}

static void reopen(struct pli_ucx_worker *u)
{
    if (pli_ucx_conn_start_worker(u) != PLI_OK) {
        pli_log(u->is_required ? PLI_WARN : PLI_INFO,
                "UCX was left for a checkpoint or a fork, and cannot be had again: %s; using tcp",
                pli_fail_take(NULL));
        u->is_given_up = true;
        return;
    }
    pli_log(PLI_DEBUG, "lane %d uses UCX again", u->net->base.lane->index);
    for (struct pli_list *at = u->net->conns.next; at != &u->net->conns; at = at->next) {
        PLI_CONTAINER(at, struct pli_tcp_conn, at)->ucx->is_initiator = true;
    }
    pli_shm_wake(
        u->net->base.lane->shm.box); // a sleeping thread does not wait for the new descriptor yet
}

void pli_ucx_quiesce_poll(struct pli_ucx_worker *u)
{
    struct pli_tcp_lane *net = u->net;
    bool is_wanted = pli_ucx_quiesce_is_wanted() && u->n_region == 0, is_out = true,
         is_leaving = false;
    if (!is_wanted && u->ucx == NULL && !u->is_given_up) {
        reopen(u);
    }
    bool is_scanned = net->is_scanned;
    net->is_scanned = true; // so that none is destroyed meanwhile
    for (struct pli_list *at = net->conns.next; at != &net->conns; at = at->next) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        if (is_wanted && tc->ucx->phase == PLI_UCX_CONN_OPEN) {
            begin(tc, true);
        }
        if (tc->ucx->phase == PLI_UCX_CONN_LEAVING) {
            step(tc);
        }
        if (!is_wanted && u->ucx != NULL && tc->ucx->phase == PLI_UCX_CONN_CLOSED &&
            tc->ucx->is_initiator) {
            come_back(tc);
        }
        if (tc->by_ucx) {
            pli_ucx_conn_push(tc);
        }
        is_out = is_out && tc->ucx->phase == PLI_UCX_CONN_CLOSED;
        is_leaving = is_leaving || tc->ucx->phase == PLI_UCX_CONN_LEAVING;
    }
    net->is_scanned = is_scanned;
    if (is_wanted && is_out && u->ucx != NULL && u->n_op == 0) {
        pli_log(PLI_DEBUG, "lane %d has left UCX", net->base.lane->index);
        pli_ucx_conn_stop_worker(u);
    }
    u->is_quiescing = is_wanted || is_leaving || (u->ucx == NULL && !u->is_given_up);
}

bool pli_ucx_quiesce_may_connect(struct pli_tcp_conn *tc)
{
    struct pli_ucx_conn *x = tc->ucx;
    if (x->phase == PLI_UCX_CONN_CLOSED) {
        if (x->lane->ucx == NULL || pli_ucx_quiesce_is_wanted()) {
            begin(tc, true);
        } else {
            come_back(tc);
        }
    }
    return x->phase == PLI_UCX_CONN_OPEN;
}

bool pli_ucx_quiesce_closing(struct pli_tcp_conn *tc, const struct pli_frame *f)
{
    struct pli_ucx_conn *x = tc->ucx;
    wake(x->lane);
    switch (f->kind) {
    case PLI_MSG_UCX_LEAVE:
        if (x->is_peer_leaving || f->word[0] < x->n_in) {
            return pli_tcp_recv_refuse(tc, "a second end of UCX, or one with a wrong count");
        }
        x->is_peer_leaving = true;
        x->n_before_leave = f->word[0];
        x->has_caught_up = x->n_in == x->n_before_leave;
        if (x->phase != PLI_UCX_CONN_LEAVING) {
            begin(tc, false);
        }
        return true;
    case PLI_MSG_UCX_LEFT:
        if (x->phase != PLI_UCX_CONN_LEAVING || !x->is_peer_leaving) {
            return pli_tcp_recv_refuse(tc, "an end of UCX that was not begun");
        }
        x->has_peer_left = true;
        step(tc); // its new address may come next
        return true;
    default: // PLI_MSG_UCX_READY
        x->is_peer_ready = true;
        if (x->phase == PLI_UCX_CONN_OPEN && x->peer != NULL) {
            pli_ucx_conn_push(tc);
        }
        return true;
    }
}
