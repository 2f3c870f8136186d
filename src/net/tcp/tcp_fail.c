// SPDX-License-Identifier: BSD-3-Clause
// Bad news, and what is under way over a connection. Frames that were begun are completed, or the
// other side would not understand the next one; what belongs to nobody any more is dropped there
// and here.
#include "ft/failure.h"
#include "net/tcp/tcp_conn.h"
#include "msg/request.h"
#include "msg/protocol.h"
#include "net/ucx/ucx_conn.h"
#include "msg/msg_wire.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

// The user may do with the buffer what he wants: keep what is still to be written of it.
static void detach(struct pli_tcp_conn *l)
{
    if (l->body_left > 0 && l->bounce == NULL) {
        l->bounce = malloc(l->body_left);
        if (l->bounce == NULL) {
            l->req = NULL;
            pli_tcp_conn_lose(l, "there is no memory for a message that was begun");
            return;
        }
        memcpy(l->bounce, l->body, l->body_left);
        l->body = l->bounce;
    }
    l->req = NULL;
}

// What comes of it is read, and goes nowhere.
static void divert(struct pli_tcp_conn *l, const struct pli_request *r)
{
    for (struct pli_list *at = l->net->socks.next; at != &l->net->socks; at = at->next) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        if (s->recv == r) {
            s->recv = NULL;
            s->to = s->parcel != NULL ? s->to : NULL;
        }
    }
}

// Of those that wait, or whose data is being written. One that is offered is in no list.
static void unlist(struct pli_list *list, struct pli_request *r)
{
    for (struct pli_list *at = list->next; at != list; at = at->next) {
        if (at == &r->link) {
            pli_list_remove(at);
            return;
        }
    }
}

static void withdraw(struct pli_tcp_conn *l, struct pli_request *r, enum pli_err err)
{
    if (l->req == r) {
        detach(l);
    }
    if ((r->flags & PLI_REQ_SEND) != 0) {
        unlist(&l->conn->pending, r);
        unlist(&l->streams, r);
        if (l->net->ucx != NULL) {
            unlist(&l->net->ucx->streams, r);
        }
    } else {
        divert(l, r);
    }
    pli_rndv_drop_cursor(r);
    pli_request_complete(r, err);
}

static enum pli_err judge(const struct pli_tcp_conn *l, const struct pli_request *r)
{
    int peer = (r->flags & PLI_REQ_SEND) != 0 ? r->source : r->item.source;
    return pli_failure_judge(l->net->lane, r, peer);
}

static void cull_tickets(struct pli_tcp_conn *l)
{
    struct pli_reqid_table *t = &l->net->tickets;
    for (uint32_t i = 0; i < t->n; i++) {
        enum pli_reqid_kind kind;
        struct pli_request *r = pli_reqid_at(t, i, l->conn, &kind);
        enum pli_err err = r != NULL ? judge(l, r) : PLI_OK;
        if (err == PLI_OK) {
            continue;
        }
        if (err == PLI_ERR_WORLD_RESIZED) {
            // What was not found yet is asked back: nothing may be lost or doubled.
            if (kind == PLI_REQID_SEND && (r->state & (PLI_REQ_CANCELLING | PLI_REQ_ASKED)) == 0) {
                r->err = (int16_t)err;
                pli_tcp_conn_unsend(r);
            }
            continue;
        }
        if (l->ucx != NULL && pli_ucx_conn_doom(l, r)) {
            continue;
        }
        l->n_asked -= kind == PLI_REQID_RECV;
        pli_reqid_haunt(t, i);
        withdraw(l, r, err);
    }
}

// Messages whose receive is known and whose data is coming unasked.
static void cull_coming(struct pli_tcp_conn *l)
{
    for (struct pli_list *at = l->net->socks.next; at != &l->net->socks; at = at->next) {
        const struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_sock, at);
        struct pli_request *r = s->link == l && s->left > 0 ? s->recv : NULL;
        enum pli_err err = r != NULL && s->frame.kind != PLI_MSG_DATA ? judge(l, r) : PLI_OK;
        if (err != PLI_OK && err != PLI_ERR_WORLD_RESIZED) {
            withdraw(l, r, err);
        }
    }
}

static void cull_unsent(struct pli_tcp_conn *l)
{
    struct pli_list *at = l->conn->pending.next;
    while (at != &l->conn->pending) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        enum pli_err err = judge(l, r);
        at = at->next;
        if (err != PLI_OK) {
            withdraw(l, r, err);
        }
    }
    // Of what is being written unasked no ticket is out. After a resize it is completed.
    struct pli_request *r = l->head.kind == PLI_MSG_EAGER ? l->req : NULL;
    enum pli_err err = r != NULL ? judge(l, r) : PLI_OK;
    if (err != PLI_OK && err != PLI_ERR_WORLD_RESIZED) {
        withdraw(l, r, err);
    }
}

enum pli_err pli_tcp_conn_fate(const struct pli_tcp_conn *l)
{
    return l->state == PLI_TCP_CONN_DEAD ? l->fate : PLI_OK;
}

void pli_tcp_fail(struct pli_tcp_conn *l, bool has_died)
{
    if (l->state == PLI_TCP_CONN_DEAD) {
        return;
    }
    if (!has_died) {
        cull_unsent(l);
        cull_coming(l);
        cull_tickets(l);
        return;
    }
    if (l->died_ns == 0) {
        l->died_ns = pli_clock_ns();
        l->net->n_dying++;
    }
    pli_tcp_conn_drain(l);
}
