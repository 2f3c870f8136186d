// SPDX-License-Identifier: BSD-3-Clause
// Sends messages. A short one is one packet. The first packet of a synchronous or long one asks for
// SYNCACK, after which the rest of a long one follows. A CANCEL may be under way in between.
#include "engine/impi_engine_priv.h"
#include <stdlib.h>

void pli_impi_engine_send_go(struct send *s, enum send_state to)
{
    static const bool may_go[N_SEND_STATE][N_SEND_STATE] = {
        // [from][to]
        [S_FIRST] = { [S_WIRE] = true, [S_DEAD] = true },
        [S_WIRE] = { [S_WAIT] = true, [S_CANCEL] = true },
        [S_WAIT] = { [S_REST] = true, [S_CANCEL] = true },
        [S_REST] = { [S_TAIL] = true },
        [S_TAIL] = { [S_CANCEL] = true },
    };
    if (!may_go[s->state][to]) {
        abort(); // a mistake of ours, whatever the peer sent
    }
    s->state = to;
}

static void free_send(struct send *s)
{
    pli_impi_idmap_remove(&s->pair->chan->e->sends, s->id);
    free(s);
}

static enum pli_impi_err refuse_to(const struct pli_impi_engine *e, const struct chan *c)
{
    if (c->state == C_LOST) {
        return PLI_IMPI_ERR_PEER;
    }
    if (c->state != C_OPEN && c->state != C_NONE) {
        return PLI_IMPI_ERR_CLOSED;
    }
    return e->is_finishing ? PLI_IMPI_ERR_CLOSED : PLI_IMPI_OK;
}

static bool is_local(const struct pli_impi_engine *e, uint32_t rank)
{
    return rank < e->job->n_proc && e->job->proc[rank].host == e->host;
}

static bool is_remote(const struct pli_impi_engine *e, uint32_t rank)
{
    return rank < e->job->n_proc && pli_impi_engine_is_peer(e, e->job->proc[rank].host);
}

static enum pli_impi_err make(struct pair *p, uint64_t id, const struct pli_impi_send *what,
                              struct send **out)
{
    struct pli_impi_engine *e = p->chan->e;
    struct send *s = calloc(1, sizeof *s);
    if (s == NULL || pli_impi_idmap_add(&e->sends, id, s) != PLI_IMPI_OK) {
        free(s);
        return PLI_IMPI_ERR_NOMEM;
    }
    s->s = *what;
    s->id = id;
    s->pair = p;
    s->is_long = what->len > e->job->datalen;
    *out = s;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_engine_send(struct pli_impi_engine *e, const struct pli_impi_send *s,
                                       uint64_t *req_out)
{
    struct pair *p;
    struct send *made;
    if (!is_local(e, s->env.src) || !is_remote(e, s->env.dst) || s->ready > s->len ||
        s->ring % e->job->datalen != 0) {
        return PLI_IMPI_ERR_ARG;
    }
    enum pli_impi_err err = refuse_to(e, &e->chan[e->job->proc[s->env.dst].host]);
    if (err == PLI_IMPI_OK) {
        err = pli_impi_engine_flow_pair(e, s->env.src, s->env.dst, &p);
    }
    if (err == PLI_IMPI_OK) {
        err = make(p, e->next_id, s, &made);
    }
    if (err != PLI_IMPI_OK) {
        return err;
    }
    *req_out = e->next_id++;
    p->chan->n_queued++;
    pli_impi_engine_flow_push(p, &p->first, made);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_engine_more(struct pli_impi_engine *e, uint64_t req, uint64_t ready)
{
    struct send *s = pli_impi_idmap_find(&e->sends, req);
    if (s == NULL || ready < s->s.ready || ready > s->s.len) {
        return PLI_IMPI_ERR_ARG;
    }
    s->s.ready = ready;
    if (s->state == S_REST && !s->is_queued) {
        pli_impi_engine_flow_push(s->pair, &s->pair->rest, s);
    } else if (s->state == S_FIRST) {
        pli_impi_engine_flow_wake(s->pair);
    }
    return PLI_IMPI_OK;
}

// It is over, but for the answer to a CANCEL.
static void complete(struct send *s)
{
    if (s->has_cancel) {
        pli_impi_engine_send_go(s, S_CANCEL);
    } else {
        free_send(s);
    }
}

// A data packet of it was written whole.
void pli_impi_engine_send_written(struct send *s, uint32_t len)
{
    struct pli_impi_engine *e = s->pair->chan->e;
    uint64_t id = s->id;
    s->gone += len;
    if (s->s.ring != 0) {
        e->ops->left(e->arg, id, s->gone);
    }
    if (--s->n_wire > 0) {
        return;
    }
    if (s->pair->chan->state != C_OPEN) { // its receiver has finalized: see drop_sends
        bool is_done = s->state == S_TAIL || (!s->is_long && !s->s.is_sync);
        bool has_cancel = s->has_cancel;
        free_send(s);
        if (has_cancel) {
            e->ops->cancelled(e->arg, id, false);
        }
        e->ops->sent(e->arg, id, is_done ? PLI_IMPI_OK : PLI_IMPI_ERR_CLOSED);
        return;
    }
    if (s->state == S_TAIL) {
        complete(s);
        e->ops->sent(e->arg, id, PLI_IMPI_OK);
    } else if (s->state == S_WIRE && s->is_long) {
        pli_impi_engine_send_go(s, S_WAIT);
    } else if (s->state == S_WIRE) {
        if (s->s.is_sync) {
            pli_impi_engine_send_go(s, S_WAIT);
        } else {
            complete(s);
        }
        e->ops->sent(e->arg, id, PLI_IMPI_OK);
    }
}

// A reply must come from the process the message went to, and after all of it was written.
static struct send *find_for(struct pair *p, uint64_t id)
{
    struct send *s = pli_impi_idmap_find(&p->chan->e->sends, id);
    return s != NULL && s->pair == p ? s : NULL;
}

enum pli_impi_err pli_impi_engine_send_syncack(struct pair *p, const struct pli_impi_packet *pk)
{
    struct pli_impi_engine *e = p->chan->e;
    struct send *s = find_for(p, pk->srqid);
    if (s == NULL || s->state != S_WAIT) {
        return pli_impi_engine_lose(p->chan, PLI_IMPI_ERR_PROTO,
                                    "it acknowledged request %llu, which awaits nothing",
                                    (unsigned long long)pk->srqid);
    }
    uint64_t id = s->id;
    s->is_matched = true;
    s->drqid = pk->drqid;
    if (s->is_long) {
        pli_impi_engine_send_go(s, S_REST);
        p->chan->n_queued++;
        pli_impi_engine_flow_push(p, &p->rest, s);
    } else {
        complete(s);
    }
    e->ops->matched(e->arg, id);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_engine_send_cancel_answer(struct pair *p,
                                                     const struct pli_impi_packet *pk)
{
    struct pli_impi_engine *e = p->chan->e;
    struct send *s = find_for(p, pk->srqid);
    bool yes = pk->type == PLI_IMPI_PK_CANCELYES;
    bool fits = s != NULL && s->has_cancel && s->state != S_WIRE && !(yes && s->is_matched);
    if (!fits) {
        return pli_impi_engine_lose(p->chan, PLI_IMPI_ERR_PROTO,
                                    "its %s of request %llu fits nothing",
                                    pli_impi_packet_name(pk->type), (unsigned long long)pk->srqid);
    }
    uint64_t id = s->id;
    s->has_cancel = false;
    if (yes || s->state == S_CANCEL) {
        free_send(s);
    }
    e->ops->cancelled(e->arg, id, yes);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_engine_cancel(struct pli_impi_engine *e, const struct pli_impi_cancel *c,
                                         enum pli_impi_cancel_result *out)
{
    struct pair *p;
    if (!is_local(e, c->src) || !is_remote(e, c->dst) || c->srqid == 0 || c->srqid >= e->next_id) {
        return PLI_IMPI_ERR_ARG;
    }
    enum pli_impi_err err = pli_impi_engine_flow_pair(e, c->src, c->dst, &p);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    struct send *s = pli_impi_idmap_find(&e->sends, c->srqid);
    if (s != NULL && (s->pair != p || s->has_cancel)) {
        return PLI_IMPI_ERR_ARG;
    }
    if (s != NULL && s->state == S_FIRST) {
        pli_impi_idmap_remove(&e->sends, s->id);
        pli_impi_engine_send_go(s, S_DEAD);
        p->chan->n_queued--;
        pli_impi_engine_flow_wake(p); // what waited behind it, and FINI, may go now
        *out = PLI_IMPI_CANCEL_DONE;
        return PLI_IMPI_OK;
    }
    if (s != NULL && s->is_matched) {
        *out = PLI_IMPI_CANCEL_LATE;
        return PLI_IMPI_OK;
    }
    static const struct pli_impi_send none;
    bool is_new = s == NULL; // a short one that has left; only the answer is of interest
    if (is_new) {
        err = make(p, c->srqid, &none, &s);
        if (err != PLI_IMPI_OK) {
            return err;
        }
        s->state = S_CANCEL;
    }
    err = pli_impi_engine_flow_ctl(p, PLI_IMPI_PK_CANCEL, &s->s.env, c->srqid, 0);
    if (err != PLI_IMPI_OK) {
        if (is_new) {
            free_send(s);
        }
        return err;
    }
    s->has_cancel = true;
    *out = PLI_IMPI_CANCEL_ASKED;
    return PLI_IMPI_OK;
}
