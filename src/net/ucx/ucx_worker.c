// SPDX-License-Identifier: BSD-3-Clause
// The worker of a lane: meeting the workers of others, hearing from them, and parting.
#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "ckpt/freeze.h"
#include "net/tcp/frame.h"
#include "net/tcp/tcp_conn.h"
#include "msg/request.h"
#include "msg/protocol.h"
#include "net/ucx/ucx_conn.h"
#include "msg/msg_wire.h"
#include "net/ucx/ucx.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { GRACE_NS = 2000000000, LAST_LOOKS = 1000 };

// Data that was asked for, or the offer of it. False: nobody asked.
static bool hear_data(struct pli_tcp_conn *l, const struct pli_frame *f, const char *data, size_t n,
                      void *offer)
{
    struct pli_request *recv =
        pli_reqid_find(&l->net->tickets, f->word[0], l->conn, PLI_REQID_RECV);
    if (recv == NULL && pli_reqid_is_ghost(&l->net->tickets, f->word[0], l->conn)) {
        return true; // it was withdrawn: what was offered is refused
    }
    uint64_t want = recv == NULL ? 0 : recv->bytes < recv->size ? recv->bytes : recv->size;
    if (recv == NULL || n == 0 || f->word[1] != recv->moved || f->word[2] != n ||
        n > want - recv->moved || (offer != NULL && recv->cursor != NULL)) {
        return pli_tcp_recv_refuse(l, "data nobody asked for");
    }
    if (offer != NULL) {
        pli_ucx_conn_fetch(l, recv, offer, n);
        return true;
    }
    if (recv->cursor != NULL) {
        pli_cursor_unpack(recv->cursor, data, n);
    } else {
        memcpy((char *)recv->buf + recv->type->true_lb + recv->moved, data, n);
    }
    pli_ucx_conn_took(l, recv, n);
    return true;
}

static bool hear_frame(struct pli_tcp_conn *l, const struct pli_frame *f, const char *data,
                       size_t n, void *offer)
{
    if (f->kind == PLI_MSG_DATA && f->mark == PLI_FRAME_MARK) {
        return hear_data(l, f, data, n, offer);
    }
    const char *wrong = pli_frame_check(f);
    if (wrong != NULL || f->len != n || offer != NULL) {
        return pli_tcp_recv_refuse(l, wrong != NULL ? wrong : "two sizes that differ");
    }
    switch (f->kind) {
    case PLI_MSG_EAGER:
    case PLI_MSG_SYNC:
    case PLI_MSG_RTS:
        l->has_left = false;
        pli_tcp_recv_arrive(l, f, data);
        return true;
    case PLI_MSG_SURE:
        pli_ucx_conn_note(l, PLI_MSG_SURED, f->word[0], 0, 0);
        return true;
    case PLI_MSG_SURED:
        l->ucx->sure = f->word[0] > l->ucx->said ? l->ucx->sure : f->word[0];
        return true;
    case PLI_MSG_WORKER:
    case PLI_MSG_BYE:
    case PLI_MSG_MERGE:
    case PLI_MSG_MOVE:
    case PLI_MSG_AWAY:
    case PLI_MSG_OVER:
    case PLI_MSG_MET:
        return pli_tcp_recv_refuse(l, "what belongs to a connection");
    default:
        return pli_tcp_recv_note(l, f);
    }
}

static bool has_all(const struct pli_ucx_conn *u)
{
    return u->has_bye && u->n_in >= u->bye_at;
}

// Anybody may reach the worker who knows where it is; only who was told the key is listened to.
static void hear(void *arg, const void *head, size_t n_head, const void *data, size_t n,
                 void *offer)
{
    struct pli_ucx_worker *u = arg;
    struct pli_ucx_head h;
    if (n_head != sizeof h) {
        return;
    }
    memcpy(&h, head, sizeof h);
    struct pli_tcp_conn *l = h.place < u->n_place ? u->places[h.place] : NULL;
    if (l == NULL || l->ucx->key != h.key || l->state == PLI_TCP_CONN_DEAD) {
        pli_log(PLI_DEBUG, "dropped a message from nobody");
        return;
    }
    l->ucx->n_in++;
    if (l->ucx->has_away && l->ucx->n_in > l->ucx->away_at) {
        pli_tcp_recv_refuse(l, "more than it had sent");
        return;
    }
    if (hear_frame(l, &h.frame, data, n, offer) && has_all(l->ucx) &&
        l->ucx->n_in == l->ucx->bye_at) {
        l->has_left = true;
        pli_tcp_conn_left(l);
    }
}

static void lost(void *arg, const char *why)
{
    struct pli_tcp_conn *l = arg;
    pli_log(PLI_DEBUG, "UCX has lost rank %u: %s", l->conn->proc, why);
    l->ucx->is_broken = true;
    l->ucx->broken_ns = pli_clock_ns();
    snprintf(l->ucx->why, sizeof l->ucx->why, "UCX says: %s", why);
    atomic_store_explicit(&l->net->must_look, 1, memory_order_relaxed);
}

static const struct pli_ucx_calls calls = { hear, lost };

enum pli_err pli_ucx_worker_start(struct pli_ucx_worker *u)
{
    pli_ucx_quiesce_count(1);
    enum pli_err err = pli_ucx_open(&calls, u, &u->ucx);
    if (err == PLI_OK) {
        u->address = pli_ucx_address(u->ucx, &u->n_address);
        if (u->address == NULL || u->n_address > PLI_FRAME_WORKER_MAX) {
            pli_ucx_worker_stop(u);
            return pli_fail(PLI_ERR_OTHER, "its address cannot be had");
        }
    } else {
        pli_ucx_quiesce_count(-1);
    }
    return err;
}

void pli_ucx_worker_stop(struct pli_ucx_worker *u)
{
    pli_ucx_close(u->ucx);
    u->ucx = NULL;
    free(u->address);
    u->address = NULL;
    pli_ucx_quiesce_count(-1);
}

enum pli_err pli_ucx_worker_open(struct pli_tcp_lane *net)
{
    const char *why;
    if (!pli_ucx_is_chosen(&why)) {
        return PLI_OK;
    }
    struct pli_ucx_worker *u = calloc(1, sizeof *u);
    if (u == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the network side of a lane");
    }
    u->net = net;
    u->may_lend = !pli_freeze_is_open() && !pli_request_is_mortal;
    if (!u->may_lend) {
        pli_ucx_keep_apart(pli_request_is_mortal);
    }
    u->is_must = strcmp(pli_conf.net, "auto") != 0;
    pli_list_init(&u->streams);
    pli_list_init(&u->free);
    u->is_unsettled = pli_ucx_quiesce_is_wanted();
    enum pli_err err = u->is_unsettled ? PLI_OK : pli_ucx_worker_start(u);
    if (err != PLI_OK) {
        const char *what = pli_fail_take(NULL);
        if (u->is_must) {
            err = pli_fail(PLI_ERR_OTHER, "PLIANT_NET=%s, but %s", pli_conf.net, what);
        } else {
            pli_log(PLI_INFO, "%s, but %s; using tcp", why, what);
            err = PLI_OK;
        }
        free(u);
        return err;
    }
    net->ucx = u;
    pli_ucx_quiesce_open();
    pli_log(PLI_DEBUG, "lane %d uses UCX: %s", net->lane->index, why);
    return PLI_OK;
}

// What comes late for who had it before bears another key.
static bool take_place(struct pli_ucx_worker *u, uint32_t *out)
{
    if (u->n_spare > 0) {
        uint32_t i = 0;
        while (u->places[i] != NULL) {
            i++;
        }
        u->n_spare--;
        *out = i;
        return true;
    }
    struct pli_tcp_conn **places = realloc(u->places, (u->n_place + 1) * sizeof *places);
    if (places == NULL) {
        return false;
    }
    u->places = places;
    *out = u->n_place++;
    return true;
}

bool pli_ucx_worker_create(struct pli_tcp_conn *l)
{
    struct pli_ucx_worker *u = l->net->ucx;
    struct pli_ucx_conn *x = calloc(1, sizeof *x);
    if (x == NULL || getrandom(&x->key, sizeof x->key, 0) != sizeof x->key ||
        !take_place(u, &x->place)) {
        free(x);
        return false;
    }
    x->lane = u;
    u->places[x->place] = l;
    pli_list_init(&x->ops);
    pli_list_init(&x->notes);
    pli_list_init(&x->stranded);
    l->ucx = x;
    l->by_ucx = u->ucx != NULL;
    x->phase = u->ucx != NULL ? PLI_UCX_CONN_IN : PLI_UCX_CONN_OUT;
    x->has_hailed = u->ucx == NULL;
    return true;
}

bool pli_ucx_worker_destroy(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    struct pli_ucx_worker *u = x->lane;
    if (!pli_list_is_empty(&x->ops) || !pli_list_is_empty(&x->stranded) || x->n_access > 0 ||
        (x->peer != NULL && !pli_ucx_part(x->peer))) {
        return false;
    }
    pli_ucx_worker_wait(x, false);
    u->n_met -= x->peer != NULL;
    u->places[x->place] = NULL;
    u->n_spare++;
    l->ucx = NULL;
    free(x);
    return true;
}

void pli_ucx_worker_clone(struct pli_tcp_lane *net)
{
    struct pli_ucx_worker *u = net->ucx;
    if (u != NULL) {
        pli_ucx_conn_forget(u);
        free(u->places);
        free(u);
        net->ucx = NULL;
    }
}

int pli_ucx_worker_poll(struct pli_ucx_worker *u)
{
    if (u->ucx == NULL) {
        return 0;
    }
    int n = pli_ucx_progress(u->ucx);
    return pli_list_is_empty(&u->streams) ? n : n + pli_ucx_conn_pump(u);
}

int pli_ucx_worker_fd(const struct pli_ucx_worker *u)
{
    return u->ucx != NULL ? pli_ucx_fd(u->ucx) : -1;
}

bool pli_ucx_worker_arm(struct pli_tcp_lane *net)
{
    pli_lock_take(&net->lane->lock);
    bool is_quiet = net->ucx->ucx == NULL || pli_ucx_arm(net->ucx->ucx);
    pli_lock_drop(&net->lane->lock);
    return is_quiet;
}

const char *pli_ucx_worker_hail(struct pli_tcp_conn *l, struct pli_frame *head)
{
    const struct pli_ucx_worker *u = l->ucx->lane;
    l->ucx->has_hailed = true;
    pli_ucx_worker_wait(l->ucx, l->ucx->peer == NULL && !l->ucx->is_refused);
    head->word[0] = l->ucx->place;
    head->word[1] = l->ucx->key;
    head->word[2] = l->ucx->is_again;
    head->len = (uint32_t)u->n_address;
    return u->address;
}

// No UCX to this one. Each side decides for what it sends; both understand either way.
static void refuse(struct pli_tcp_conn *l, const char *why)
{
    if (l->ucx->lane->is_must) {
        pli_tcp_conn_lose(l, why);
        return;
    }
    pli_log(PLI_INFO, "messages to rank %u go over tcp: %s", l->conn->proc, why);
    l->ucx->is_refused = true;
    l->by_ucx = false;
    pli_ucx_conn_push(l);
    pli_tcp_conn_push(l);
}

void pli_ucx_worker_meet(struct pli_tcp_conn *l, const struct pli_frame *f, const char *address)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x == NULL) {
        pli_tcp_conn_say(l, PLI_MSG_WORKER, 0, 0, 0); // there is no worker here
        return;
    }
    if (l->state >= PLI_TCP_CONN_LOST || !pli_ucx_quiesce_may_meet(l)) {
        return;
    }
    if (f->word[2] != 0) {
        pli_tcp_conn_say(l, PLI_MSG_MET, 0, 0, 0);
    }
    if (x->peer != NULL || x->is_refused) {
        return;
    }
    pli_ucx_worker_wait(x, false);
    if (f->len == 0) {
        refuse(l, "it does not use UCX");
        return;
    }
    x->their_place = (uint32_t)f->word[0];
    x->their_key = f->word[1];
    if (pli_ucx_meet(x->lane->ucx, address, l, &x->peer) != PLI_OK) {
        refuse(l, pli_fail_take(NULL));
        return;
    }
    x->lane->n_met++;
    pli_ucx_conn_push(l);
}

bool pli_ucx_worker_bye(struct pli_tcp_conn *l, uint64_t n)
{
    l->ucx->has_bye = true;
    l->ucx->bye_at = n;
    return l->ucx->n_in >= n;
}

uint64_t pli_ucx_worker_leave(struct pli_tcp_conn *l)
{
    if (!l->has_left) {
        pli_ucx_conn_flush(l);
    }
    return l->ucx->n_out;
}

void pli_ucx_worker_finish(struct pli_tcp_conn *l)
{
    for (int i = 0; i < LAST_LOOKS && !has_all(l->ucx) && l->ucx->lane->ucx != NULL; i++) {
        pli_ucx_progress(l->ucx->lane->ucx);
    }
}

// A way that broke although the other side lives and the connection stands.
void pli_ucx_worker_judge(struct pli_tcp_conn *l, uint64_t now)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x->is_broken && x->broken_ns == 0) {
        x->broken_ns = now;
    }
    if (x->is_broken && !l->has_left && now - x->broken_ns > GRACE_NS) {
        pli_tcp_conn_lose(l, x->why);
    }
}

bool pli_ucx_worker_is_unsure(struct pli_tcp_conn *l)
{
    struct pli_ucx_conn *x = l->ucx;
    if (x->is_refused || x->peer == NULL || x->is_broken || l->has_left || x->sure == x->said) {
        return false;
    }
    if (x->asked != x->said) {
        x->asked = x->said;
        pli_ucx_conn_note(l, PLI_MSG_SURE, x->said, 0, 0);
    }
    return true;
}

bool pli_ucx_worker_is_read(const struct pli_tcp_conn *l)
{
    const struct pli_ucx_conn *x = l->ucx;
    return x == NULL || x->peer == NULL || x->is_broken || has_all(x);
}
