// SPDX-License-Identifier: BSD-3-Clause
// Handles packets from a peer: each is checked against the job and the state of its message. A
// packet that is wrong ends the connection, with a log line.
#include "engine/impi_engine_priv.h"
#include <stdlib.h>

static struct pli_impi_envelope envelope_of(const struct pli_impi_packet *pk, uint32_t src,
                                            uint32_t dst)
{
    return (struct pli_impi_envelope){ .src = src,
                                       .dst = dst,
                                       .cid = pk->cid,
                                       .lsrank = pk->lsrank,
                                       .tag = pk->tag,
                                       .seqnum = pk->seqnum,
                                       .count = pk->count,
                                       .dtype = pk->dtype };
}

// The pair a packet belongs to: from a process of that host to one of ours.
static enum pli_impi_err resolve(struct chan *c)
{
    struct pli_impi_engine *e = c->e;
    uint32_t src, dst;
    if (pli_impi_job_find(e->job, &c->pk.src, &src) != PLI_IMPI_OK ||
        e->job->proc[src].host != c->host) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO,
                                    "its %s comes from no process of its own",
                                    pli_impi_packet_name(c->pk.type));
    }
    if (pli_impi_job_find(e->job, &c->pk.dest, &dst) != PLI_IMPI_OK ||
        e->job->proc[dst].host != e->host) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO, "its %s is for no process of ours",
                                    pli_impi_packet_name(c->pk.type));
    }
    enum pli_impi_err err = pli_impi_engine_flow_pair(e, dst, src, &c->pair);
    return err == PLI_IMPI_OK ? err : pli_impi_engine_lose(c, err, "out of memory");
}

static struct recv *find_rest(struct pair *p, const struct pli_impi_packet *pk)
{
    struct recv *r = pli_impi_idmap_find(&p->chan->e->recvs, pk->drqid);
    bool fits = r != NULL && r->pair == p && r->is_accepted && r->srqid == pk->srqid &&
                r->msglen == pk->msglen && pk->len <= r->msglen - r->off;
    return fits ? r : NULL;
}

static bool is_rest(const struct pli_impi_packet *pk)
{
    return pk->type == PLI_IMPI_PK_DATA && pk->len != pk->msglen;
}

static enum pli_impi_err begin_rest(struct chan *c, struct pair *p)
{
    const struct recv *r = find_rest(p, &c->pk);
    if (r == NULL) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO,
                                    "its DATA continues no message (handle %llu)",
                                    (unsigned long long)c->pk.drqid);
    }
    uint64_t room = r->base != NULL && r->cap > r->off ? r->cap - r->off : 0;
    c->dst = room > 0 ? r->base + r->off : NULL;
    c->dst_left = room < c->pk.len ? (uint32_t)room : c->pk.len;
    return PLI_IMPI_OK;
}

static enum pli_impi_err begin_first(struct chan *c, struct pair *p)
{
    c->arrival = (struct pli_impi_arrival){ .env = envelope_of(&c->pk, p->remote, p->local),
                                            .msglen = c->pk.msglen,
                                            .len = c->pk.len,
                                            .srqid = c->pk.srqid };
    c->is_ignored = c->has_fini; // all our processes have finalized
    if (c->pk.len > 0 && !c->is_ignored) {
        c->room = c->e->ops->room(c->e->arg, &c->arrival);
        if (c->room == NULL) {
            return pli_impi_engine_lose(c, PLI_IMPI_ERR_NOMEM, "no room for a message of it");
        }
        c->dst = c->room;
        c->dst_left = c->pk.len;
    }
    return PLI_IMPI_OK;
}

static enum pli_impi_err on_fini(struct chan *c)
{
    struct pli_impi_engine *e = c->e;
    if (c->state == C_GOT) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO, "it said FINI twice");
    }
    pli_impi_engine_go(c, c->state == C_SENT ? C_OVER : C_GOT);
    pli_impi_engine_drop_sends(c, PLI_IMPI_ERR_CLOSED);
    pli_impi_engine_recv_drop(c, PLI_IMPI_ERR_CLOSED);
    e->ops->peer_fini(e->arg, c->host);
    if (c->state == C_OVER) {
        e->ops->peer_down(e->arg, c->host, PLI_IMPI_OK);
    }
    return PLI_IMPI_OK;
}

static enum pli_impi_err on_control(struct chan *c, struct pair *p)
{
    struct pli_impi_engine *e = c->e;
    if (c->state != C_OPEN || c->has_fini) {
        return PLI_IMPI_OK; // one of us has finalized: of no use any more
    }
    switch (c->pk.type) {
    case PLI_IMPI_PK_PROTOACK:
        return pli_impi_engine_flow_credit(p);
    case PLI_IMPI_PK_SYNCACK:
        return pli_impi_engine_send_syncack(p, &c->pk);
    case PLI_IMPI_PK_CANCEL: {
        struct pli_impi_cancel cancel = { p->remote, p->local, c->pk.srqid };
        e->ops->cancel_asked(e->arg, &cancel);
        return PLI_IMPI_OK;
    }
    default:
        return pli_impi_engine_send_cancel_answer(p, &c->pk);
    }
}

// Returns with c->left set to the data that follows.
enum pli_impi_err pli_impi_engine_recv_begin(struct chan *c)
{
    c->dst = NULL;
    c->dst_left = 0;
    c->room = NULL;
    c->is_ignored = false;
    c->left = pli_impi_packet_data(&c->pk);
    if (c->pk.type == PLI_IMPI_PK_FINI) {
        return on_fini(c);
    }
    enum pli_impi_err err = resolve(c);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    struct pair *p = c->pair;
    if (c->pk.type > PLI_IMPI_PK_DATASYNC) {
        err = pli_impi_packet_is_counted(c->pk.type) ? pli_impi_engine_flow_got(p) : PLI_IMPI_OK;
        return err == PLI_IMPI_OK ? on_control(c, p) : err;
    }
    if (c->state == C_GOT) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO, "it sent data after FINI");
    }
    if (pli_impi_packet_check(&c->pk, c->e->job->datalen) != PLI_IMPI_OK) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO,
                                    "it sent %u bytes of a message of %llu in one packet",
                                    c->pk.len, (unsigned long long)c->pk.msglen);
    }
    if (!is_rest(&c->pk)) {
        return begin_first(c, p);
    }
    if (c->has_fini) {
        c->is_ignored = true;
        return PLI_IMPI_OK;
    }
    return begin_rest(c, p);
}

static enum pli_impi_err end_rest(struct chan *c, struct pair *p)
{
    struct pli_impi_engine *e = c->e;
    struct recv *r = find_rest(p, &c->pk);
    if (r == NULL) {
        return PLI_IMPI_OK; // we finished meanwhile
    }
    uint64_t id = r->id, at = r->off;
    r->off += c->pk.len;
    bool is_whole = r->off == r->msglen;
    if (is_whole) {
        pli_impi_idmap_remove(&e->recvs, id);
        free(r);
    }
    e->ops->part(e->arg, id, at, c->pk.len);
    if (is_whole) {
        e->ops->received(e->arg, id, PLI_IMPI_OK);
    }
    return PLI_IMPI_OK;
}

static enum pli_impi_err end_first(struct chan *c, struct pair *p)
{
    struct pli_impi_engine *e = c->e;
    if (c->pk.type == PLI_IMPI_PK_DATASYNC) {
        struct recv *r = calloc(1, sizeof *r);
        if (r == NULL || pli_impi_idmap_add(&e->recvs, e->next_id, r) != PLI_IMPI_OK) {
            free(r);
            return pli_impi_engine_lose(c, PLI_IMPI_ERR_NOMEM, "out of memory");
        }
        *r = (struct recv){ .id = e->next_id++,
                            .srqid = c->pk.srqid,
                            .msglen = c->pk.msglen,
                            .off = c->pk.len,
                            .pair = p,
                            .env = c->arrival.env,
                            .is_long = c->pk.len != c->pk.msglen };
        c->arrival.handle = r->id;
    }
    void *room = c->room;
    c->room = NULL;
    e->ops->arrived(e->arg, &c->arrival, room);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_engine_recv_end(struct chan *c)
{
    struct pair *p = c->pair;
    enum pli_impi_err err = pli_impi_engine_flow_got(p);
    if (err != PLI_IMPI_OK || c->is_ignored) {
        return err;
    }
    return is_rest(&c->pk) ? end_rest(c, p) : end_first(c, p);
}

// Accepted messages of a host that will not be completed.
void pli_impi_engine_recv_drop(struct chan *c, enum pli_impi_err err)
{
    struct pli_impi_idmap *m = &c->e->recvs;
    struct recv *list = NULL;
    for (size_t i = 0; i < m->cap;) {
        struct recv *r = m->slot[i].value;
        if (m->slot[i].id == 0 || r->pair->chan != c || !r->is_accepted) {
            i++;
            continue;
        }
        pli_impi_idmap_remove(m, r->id); // moves another one here: look again
        r->next = list;
        list = r;
    }
    while (list != NULL) {
        struct recv *r = list;
        list = r->next;
        c->e->ops->received(c->e->arg, r->id, err);
        free(r);
    }
}

enum pli_impi_err pli_impi_engine_accept(struct pli_impi_engine *e, uint64_t handle, void *base,
                                         uint64_t cap)
{
    struct recv *r = pli_impi_idmap_find(&e->recvs, handle);
    if (r == NULL || r->is_accepted) {
        return PLI_IMPI_ERR_ARG;
    }
    enum pli_impi_err err =
        pli_impi_engine_flow_ctl(r->pair, PLI_IMPI_PK_SYNCACK, &r->env, r->srqid, handle);
    if (err == PLI_IMPI_ERR_NOMEM) {
        return err;
    }
    if (err == PLI_IMPI_OK && r->is_long) {
        r->is_accepted = true;
        r->base = base;
        r->cap = cap;
        return PLI_IMPI_OK;
    }
    bool is_long = r->is_long;
    pli_impi_idmap_remove(&e->recvs, handle);
    free(r);
    return is_long ? err : PLI_IMPI_OK; // a short one is complete, even if its sender has gone
}

enum pli_impi_err pli_impi_engine_answer(struct pli_impi_engine *e, const struct pli_impi_cancel *c,
                                         uint64_t handle, bool yes)
{
    struct recv *r = pli_impi_idmap_find(&e->recvs, handle);
    struct pair *p;
    if ((yes && r != NULL && r->is_accepted) || c->src >= e->job->n_proc ||
        c->dst >= e->job->n_proc || e->job->proc[c->dst].host != e->host ||
        !pli_impi_engine_is_peer(e, e->job->proc[c->src].host)) {
        return PLI_IMPI_ERR_ARG;
    }
    enum pli_impi_err err = pli_impi_engine_flow_pair(e, c->dst, c->src, &p);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    static const struct pli_impi_envelope none;
    err = pli_impi_engine_flow_ctl(p, yes ? PLI_IMPI_PK_CANCELYES : PLI_IMPI_PK_CANCELNO,
                                   r != NULL ? &r->env : &none, c->srqid, 0);
    if (err == PLI_IMPI_OK && yes && r != NULL) {
        pli_impi_idmap_remove(&e->recvs, handle);
        free(r);
    }
    return err;
}
