// SPDX-License-Identifier: BSD-3-Clause
// Each link goes back to its connection. Who leaves says how many messages it has sent by UCX, and
// writes all others behind that; the other side does the same, and puts off what comes there until
// it has the messages of before. When each knows that the other has everything, the way between the
// two workers is closed; when a lane has no such way left its worker is, and UCX with the last one.
//
// Coming back is meeting anew, with one difference: messages have gone over the connection before.
// So nothing goes by UCX until the other side has said that it has read up to my new address.
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

enum { PARK_NS = 2000000000 }; // a launcher that wants to park us says so every 20 ms

static _Atomic int n_open;          // workers of this process
static _Atomic int n_ask;           // callers who want none
static _Atomic uint64_t park_until; // or the launcher does; 0: it does not

bool pli_ucx_quiesce_is_wanted(void)
{
    uint64_t until = atomic_load_explicit(&park_until, memory_order_relaxed);
    return atomic_load_explicit(&n_ask, memory_order_relaxed) > 0 ||
           (until != 0 && pli_clock_ns() < until);
}

bool pli_ucx_quiesce_is_calm(void)
{
    return atomic_load(&n_open) == 0;
}

void pli_ucx_quiesce_count(int n)
{
    atomic_fetch_add(&n_open, n);
}

static void stir(struct pli_ucx_worker *u)
{
    u->is_unsettled = true;
    atomic_store_explicit(&u->net->must_look, 1, memory_order_relaxed);
}

bool pli_ucx_quiesce_is_due(struct pli_tcp_lane *net)
{
    if (!net->ucx->is_unsettled &&
        (atomic_load_explicit(&net->must_look, memory_order_relaxed) == 0 ||
         !pli_ucx_quiesce_is_wanted())) {
        return false;
    }
    stir(net->ucx);
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
    while (!pli_ucx_quiesce_is_calm()) {
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
static bool ask_to_park(void)
{
    atomic_store(&park_until, pli_clock_ns() + PARK_NS);
    if (!pli_ucx_quiesce_is_calm()) {
        wake_lanes();
    }
    return pli_ucx_quiesce_is_calm();
}

void pli_ucx_quiesce_thawed(void)
{
    atomic_store(&park_until, 0);
}

void pli_ucx_quiesce_open(void)
{
    pli_freeze_on_ask(ask_to_park);
}

bool pli_ucx_quiesce_is_behind(const struct pli_tcp_conn *l)
{
    return l->ucx->has_away && !l->ucx->is_even;
}

static void begin(struct pli_tcp_conn *l, bool is_mine)
{
    struct pli_ucx_conn *x = l->ucx;
    x->phase = PLI_UCX_CONN_LEAVING;
    x->is_mine = is_mine;
    x->said_over = x->has_over = false;
    x->has_hailed = true;
    pli_ucx_conn_set_waiting(x, false);
    if (l->state == PLI_TCP_CONN_UP) {
        pli_tcp_conn_note(l, PLI_MSG_AWAY, x->n_out, 0, 0);
    }
    pli_ucx_conn_leave(l);
    stir(x->lane);
}

static void end(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x->peer != NULL) {
        pli_ucx_part(x->peer);
        x->peer = NULL;
        x->lane->n_met--;
    }
    x->phase = PLI_UCX_CONN_OUT;
    x->has_away = x->is_even = x->is_refused = x->is_broken = x->has_bye = false;
    x->n_out = x->n_in = x->said = x->asked = x->sure = 0;
    stir(x->lane);
}

static void step(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    if (pli_ucx_quiesce_is_behind(l) && x->n_in == x->away_at) {
        x->is_even = true;
        pli_tcp_recv_catch_up(l);
    }
    if (!pli_list_is_empty(&x->ops) || x->n_access > 0) {
        return;
    }
    if (l->state == PLI_TCP_CONN_UP && !l->has_left) {
        if (!x->is_even) {
            return;
        }
        if (!x->said_over) {
            x->said_over = true;
            pli_tcp_conn_note(l, PLI_MSG_OVER, 0, 0, 0);
        }
        if (!x->has_over) {
            return;
        }
    }
    end(l);
}

// By UCX again, as soon as both sides have met.
static void come_back(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    if (l->state >= PLI_TCP_CONN_LOST) {
        return;
    }
    x->phase = PLI_UCX_CONN_IN;
    x->is_mine = x->is_met = x->has_hailed = false;
    x->is_again = l->state == PLI_TCP_CONN_UP;
    l->by_ucx = true;
    if (l->net->hot != NULL && l->net->hot->link == l) {
        pli_tcp_lane_set_active(l->net, NULL);
    }
    pli_tcp_conn_push(l);
}

static void reopen(struct pli_ucx_worker *u)
{
    if (pli_ucx_conn_start_worker(u) != PLI_OK) {
        pli_log(u->is_must ? PLI_WARN : PLI_INFO,
                "UCX was left for a checkpoint or a fork, and cannot be had again: %s; using tcp",
                pli_fail_take(NULL));
        u->is_given_up = true;
        return;
    }
    pli_log(PLI_DEBUG, "lane %d uses UCX again", u->net->base.lane->index);
    for (struct pli_list *at = u->net->links.next; at != &u->net->links; at = at->next) {
        PLI_CONTAINER(at, struct pli_tcp_conn, at)->ucx->is_mine = true;
    }
    pli_shm_wake(u->net->base.lane->shm.box); // who sleeps does not wait for the new descriptor
}

void pli_ucx_quiesce_poll(struct pli_ucx_worker *u)
{
    struct pli_tcp_lane *net = u->net;
    bool is_wanted = pli_ucx_quiesce_is_wanted() && u->n_region == 0, is_out = true,
         is_leaving = false;
    if (!is_wanted && u->ucx == NULL && !u->is_given_up) {
        reopen(u);
    }
    bool is_judged = net->is_judged;
    net->is_judged = true; // so that none is destroyed meanwhile
    for (struct pli_list *at = net->links.next; at != &net->links; at = at->next) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        if (is_wanted && l->ucx->phase == PLI_UCX_CONN_IN) {
            begin(l, true);
        }
        if (l->ucx->phase == PLI_UCX_CONN_LEAVING) {
            step(l);
        }
        if (!is_wanted && u->ucx != NULL && l->ucx->phase == PLI_UCX_CONN_OUT && l->ucx->is_mine) {
            come_back(l);
        }
        if (l->by_ucx) {
            pli_ucx_conn_push(l);
        }
        is_out = is_out && l->ucx->phase == PLI_UCX_CONN_OUT;
        is_leaving = is_leaving || l->ucx->phase == PLI_UCX_CONN_LEAVING;
    }
    net->is_judged = is_judged;
    if (is_wanted && is_out && u->ucx != NULL && u->n_op == 0) {
        pli_log(PLI_DEBUG, "lane %d has left UCX", net->base.lane->index);
        pli_ucx_conn_stop_worker(u);
    }
    u->is_unsettled = is_wanted || is_leaving || (u->ucx == NULL && !u->is_given_up);
}

bool pli_ucx_quiesce_may_meet(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x->phase == PLI_UCX_CONN_OUT) {
        if (x->lane->ucx == NULL || pli_ucx_quiesce_is_wanted()) {
            begin(l, true);
        } else {
            come_back(l);
        }
    }
    return x->phase == PLI_UCX_CONN_IN;
}

bool pli_ucx_quiesce_closing(struct pli_tcp_conn *l, const struct pli_frame *f)
{
    struct pli_ucx_conn *x = l->ucx;
    stir(x->lane);
    switch (f->kind) {
    case PLI_MSG_AWAY:
        if (x->has_away || f->word[0] < x->n_in) {
            return pli_tcp_recv_refuse(l, "a second farewell, or one to less than it sent");
        }
        x->has_away = true;
        x->away_at = f->word[0];
        x->is_even = x->n_in == x->away_at;
        if (x->phase != PLI_UCX_CONN_LEAVING) {
            begin(l, false);
        }
        return true;
    case PLI_MSG_OVER:
        if (x->phase != PLI_UCX_CONN_LEAVING || !x->has_away) {
            return pli_tcp_recv_refuse(l, "the end of what was not begun");
        }
        x->has_over = true;
        step(l); // its new address may come next
        return true;
    default: // PLI_MSG_MET
        x->is_met = true;
        if (x->phase == PLI_UCX_CONN_IN && x->peer != NULL) {
            pli_ucx_conn_push(l);
        }
        return true;
    }
}
