// SPDX-License-Identifier: BSD-3-Clause
// Flow control and the choice of the next packet. Each pair of processes has its own credit and its
// own queues, so that one that waits does not hold up the others. Order of a pair's packets:
// control packets before data, then first packets of messages (whose order MPI wants) and packets
// of the oldest long message under way in turn. Credits (PROTOACK) need no credit and go before
// all.
#include "engine/impi_engine_priv.h"
#include <stdlib.h>
#include <string.h>

void pli_impi_engine_flow_tell(struct chan *c)
{
    struct pli_impi_engine *e = c->e;
    if (!c->is_told && c->state != C_NONE && c->state != C_LOST && c->state != C_OVER) {
        c->is_told = true;
        if (e->on_write != NULL) {
            e->on_write(e->write_arg, c->host);
        }
    }
}

enum pli_impi_err pli_impi_engine_flow_pair(struct pli_impi_engine *e, uint32_t local,
                                            uint32_t remote, struct pair **out)
{
    uint32_t index = local - e->job->host[e->host].first_rank;
    uint64_t key = ((uint64_t)index + 1) << 32 | remote;
    struct pair *p = pli_impi_idmap_find(&e->pairs, key);
    if (p == NULL) {
        p = calloc(1, sizeof *p);
        if (p == NULL || pli_impi_idmap_add(&e->pairs, key, p) != PLI_IMPI_OK) {
            free(p);
            return PLI_IMPI_ERR_NOMEM;
        }
        p->local = local;
        p->remote = remote;
        p->chan = &e->chan[e->job->proc[remote].host];
    }
    *out = p;
    return PLI_IMPI_OK;
}

void pli_impi_engine_flow_wake(struct pair *p)
{
    struct chan *c = p->chan;
    if (!p->is_ready) {
        p->is_ready = true;
        p->next_ready = NULL;
        if (c->ready == NULL) {
            c->ready = p;
        } else {
            c->ready_tail->next_ready = p;
        }
        c->ready_tail = p;
    }
    pli_impi_engine_flow_tell(c);
}

enum pli_impi_err pli_impi_engine_flow_ctl(struct pair *p, uint32_t type,
                                           const struct pli_impi_envelope *env, uint64_t srqid,
                                           uint64_t drqid)
{
    if (p->chan->state != C_OPEN || p->chan->has_fini) {
        return p->chan->state == C_LOST ? PLI_IMPI_ERR_PEER : PLI_IMPI_ERR_CLOSED;
    }
    struct ctl *ctl = p->n_ctl < MAX_CTL ? malloc(sizeof *ctl) : NULL;
    if (ctl == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    *ctl = (struct ctl){ .type = type, .srqid = srqid, .drqid = drqid, .env = *env };
    if (p->ctl == NULL) {
        p->ctl = ctl;
    } else {
        p->ctl_tail->next = ctl;
    }
    p->ctl_tail = ctl;
    p->n_ctl++;
    p->chan->n_queued++;
    pli_impi_engine_flow_wake(p);
    return PLI_IMPI_OK;
}

// By age: of long messages that wait for their turn the oldest goes on first, so that they end one
// after the other. If all went on alike, all would end at once, and the network would stand idle
// until the first packets of the next ones were answered.
void pli_impi_engine_flow_push(struct pair *p, struct queue *q, struct send *s)
{
    struct send **at = q->head != NULL && q->tail->id < s->id ? &q->tail->next : &q->head;
    while (*at != NULL && (*at)->id < s->id) {
        at = &(*at)->next;
    }
    s->next = *at;
    s->is_queued = true;
    *at = s;
    if (s->next == NULL) {
        q->tail = s;
    }
    pli_impi_engine_flow_wake(p);
}

static void pop(struct queue *q)
{
    struct send *s = q->head;
    q->head = s->next;
    s->next = NULL;
    s->is_queued = false;
}

enum pli_impi_err pli_impi_engine_flow_got(struct pair *p)
{
    const struct pli_impi_job *job = p->chan->e->job;
    struct chan *c = p->chan;
    if (++p->unacked > job->hiwater) {
        return pli_impi_engine_lose(c, PLI_IMPI_ERR_PROTO, "it sent more than hiwater %u allows",
                                    job->hiwater);
    }
    if (++p->got < job->ackmark || c->state != C_OPEN || c->has_fini) {
        return PLI_IMPI_OK;
    }
    p->got -= job->ackmark;
    p->n_ack++;
    if (!p->is_owing) {
        p->is_owing = true;
        p->next_owing = NULL;
        if (c->owing == NULL) {
            c->owing = p;
        } else {
            c->owing_tail->next_owing = p;
        }
        c->owing_tail = p;
    }
    pli_impi_engine_flow_tell(c);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_engine_flow_credit(struct pair *p)
{
    const struct pli_impi_job *job = p->chan->e->job;
    if (p->sent < job->ackmark) {
        return pli_impi_engine_lose(p->chan, PLI_IMPI_ERR_PROTO,
                                    "it acknowledged more packets than it was sent");
    }
    p->sent -= job->ackmark;
    pli_impi_engine_flow_wake(p);
    return PLI_IMPI_OK;
}

// Hand one packet to the wire. The ring has room.
static void commit(struct chan *c, const struct pli_impi_packet *pk, const void *data,
                   struct send *s)
{
    struct item *it = &c->ring[(c->first + c->n_item) % RING];
    pli_impi_packet_put(it->head, pk);
    it->type = pk->type;
    it->data = data;
    it->len = pli_impi_packet_data(pk);
    it->send = s;
    c->n_item++;
    c->n_byte += it->len;
    if (s != NULL) {
        s->n_wire++;
    }
}

static struct pli_impi_packet packet_of(const struct pair *p, uint32_t type,
                                        const struct pli_impi_envelope *env)
{
    const struct pli_impi_job *job = p->chan->e->job;
    return (struct pli_impi_packet){ .type = type,
                                     .src = job->proc[p->local].id,
                                     .dest = job->proc[p->remote].id,
                                     .lsrank = env->lsrank,
                                     .tag = env->tag,
                                     .cid = env->cid };
}

static void emit_credit(struct chan *c)
{
    static const struct pli_impi_envelope none;
    struct pair *p = c->owing;
    struct pli_impi_packet pk = packet_of(p, PLI_IMPI_PK_PROTOACK, &none);
    commit(c, &pk, NULL, NULL);
    p->unacked -= c->e->job->ackmark;
    if (--p->n_ack == 0) {
        c->owing = p->next_owing;
        p->is_owing = false;
    }
}

static void emit_ctl(struct pair *p)
{
    struct ctl *ctl = p->ctl;
    struct pli_impi_packet pk = packet_of(p, ctl->type, &ctl->env);
    pk.srqid = ctl->srqid;
    pk.drqid = ctl->drqid;
    commit(p->chan, &pk, NULL, NULL);
    p->ctl = ctl->next;
    p->n_ctl--;
    p->chan->n_queued--;
    free(ctl);
}

// The send of a queue whose next packet can go, or NULL.
static struct send *next_of(struct pair *p, struct queue *q, uint32_t *len_out)
{
    uint32_t datalen = p->chan->e->job->datalen;
    while (q->head != NULL) {
        struct send *s = q->head;
        uint64_t left = s->s.len - s->off;
        uint32_t len = left < datalen ? (uint32_t)left : datalen;
        if (s->state == S_DEAD) {
            pop(q);
            free(s);
        } else if (s->s.ready >= s->off + len) {
            *len_out = len;
            return s;
        } else if (q == &p->first) {
            return NULL; // the messages behind it must not overtake it
        } else {
            pop(q); // until pli_impi_engine_more
        }
    }
    return NULL;
}

static bool emit_data(struct pair *p, struct queue *q)
{
    uint32_t len = 0;
    struct send *s = next_of(p, q, &len);
    if (s == NULL) {
        return false;
    }
    bool is_first = q == &p->first;
    bool wants_ack = is_first && (s->s.is_sync || s->is_long);
    struct pli_impi_packet pk =
        packet_of(p, wants_ack ? PLI_IMPI_PK_DATASYNC : PLI_IMPI_PK_DATA, &s->s.env);
    pk.len = len;
    pk.msglen = s->s.len;
    pk.srqid = s->id;
    pk.drqid = s->drqid;
    pk.seqnum = s->s.env.seqnum;
    pk.count = s->s.env.count;
    pk.dtype = s->s.env.dtype;
    uint64_t at = s->s.ring != 0 ? s->off % s->s.ring : s->off;
    commit(p->chan, &pk, len == 0 ? NULL : (const unsigned char *)s->s.data + at, s);
    s->off += len;
    if (is_first || s->off == s->s.len) {
        pop(q);
        p->chan->n_queued--;
        pli_impi_engine_send_go(s, is_first ? S_WIRE : S_TAIL);
    }
    p->is_rest_next = is_first;
    return true;
}

static bool emit(struct pair *p)
{
    if (p->sent >= p->chan->e->job->hiwater) {
        return false; // until PROTOACK
    }
    if (p->ctl != NULL) {
        emit_ctl(p);
    } else if (!emit_data(p, p->is_rest_next ? &p->rest : &p->first) &&
               !emit_data(p, p->is_rest_next ? &p->first : &p->rest)) {
        return false;
    }
    p->sent++;
    return true;
}

void pli_impi_engine_flow_fill(struct chan *c)
{
    while (c->n_item < RING && c->n_byte < RING_BYTES) {
        if (c->owing != NULL) {
            emit_credit(c);
        } else if (c->ready != NULL) {
            struct pair *p = c->ready;
            c->ready = p->next_ready;
            p->is_ready = false;
            if (emit(p)) {
                pli_impi_engine_flow_wake(p); // at the end of the line
            }
        } else {
            break;
        }
    }
    if (c->wants_fini && !c->has_fini && c->n_queued == 0 && c->owing == NULL && c->n_item < RING &&
        (c->state == C_OPEN || c->state == C_GOT)) {
        struct pli_impi_packet fini = pli_impi_packet_fini();
        commit(c, &fini, NULL, NULL);
        c->has_fini = true;
    }
}

void pli_impi_engine_flow_clear(struct pair *p)
{
    while (p->ctl != NULL) {
        struct ctl *next = p->ctl->next;
        free(p->ctl);
        p->ctl = next;
    }
    struct queue *q[] = { &p->first, &p->rest };
    for (int i = 0; i < 2; i++) {
        while (q[i]->head != NULL) {
            struct send *s = q[i]->head;
            pop(q[i]);
            if (s->state == S_DEAD) {
                free(s);
            }
        }
    }
    p->n_ctl = 0;
    p->is_ready = p->is_owing = false;
    p->n_ack = 0;
}
