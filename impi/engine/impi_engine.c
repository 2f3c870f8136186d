// SPDX-License-Identifier: BSD-3-Clause
// The protocol engine: creates it, and opens and closes its connections.
#include "engine/impi_engine.h"
#include "engine/impi_engine_priv.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pli_impi_engine_go(struct chan *c, enum chan_state to)
{
    static const bool may_go[N_CHAN_STATE][N_CHAN_STATE] = {
        // [from][to]
        [C_NONE] = { [C_OPEN] = true, [C_LOST] = true },
        [C_OPEN] = { [C_SENT] = true, [C_GOT] = true, [C_LOST] = true },
        [C_SENT] = { [C_OVER] = true, [C_LOST] = true },
        [C_GOT] = { [C_OVER] = true, [C_LOST] = true },
    };
    static const char *const name[N_CHAN_STATE] = { "none",     "open", "fini sent",
                                                    "fini got", "over", "lost" };
    if (!may_go[c->state][to]) {
        abort(); // a mistake of ours, whatever the peer sent
    }
    pli_impi_log(&c->e->log, PLI_IMPI_LOG_STEP, "host %u to host %u: %s -> %s", c->e->host, c->host,
                 name[c->state], name[to]);
    c->state = to;
}

void pli_impi_engine_on_write(struct pli_impi_engine *e, pli_impi_engine_write_fn fn, void *arg)
{
    e->on_write = fn;
    e->write_arg = arg;
}

bool pli_impi_engine_is_peer(const struct pli_impi_engine *e, uint32_t host)
{
    return host < e->job->n_host && e->job->host[host].client != e->job->host[e->host].client;
}

enum pli_impi_err pli_impi_engine_create(const struct pli_impi_job *job, uint32_t host,
                                         const struct pli_impi_engine_ops *ops, void *arg,
                                         const struct pli_impi_log *log,
                                         struct pli_impi_engine **out)
{
    if (host >= job->n_host) {
        return PLI_IMPI_ERR_ARG;
    }
    struct pli_impi_engine *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    *e = (struct pli_impi_engine){
        .job = job, .host = host, .ops = ops, .arg = arg, .log = *log, .next_id = 1
    };
    e->chan = calloc(job->n_host, sizeof *e->chan);
    if (e->chan == NULL) {
        pli_impi_engine_destroy(e);
        return PLI_IMPI_ERR_NOMEM;
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        e->chan[h].e = e;
        e->chan[h].host = h;
    }
    *out = e;
    return PLI_IMPI_OK;
}

static void free_values(struct pli_impi_idmap *m)
{
    for (size_t i = 0; i < m->cap; i++) {
        free(m->slot[i].value);
    }
    pli_impi_idmap_fini(m);
}

void pli_impi_engine_destroy(struct pli_impi_engine *e)
{
    if (e == NULL) {
        return;
    }
    for (size_t i = 0; i < e->pairs.cap; i++) {
        if (e->pairs.slot[i].value != NULL) {
            pli_impi_engine_flow_clear(e->pairs.slot[i].value);
        }
    }
    free_values(&e->sends);
    free_values(&e->recvs);
    free_values(&e->pairs);
    for (uint32_t h = 0; e->chan != NULL && h < e->job->n_host; h++) {
        if (e->chan[h].room != NULL) {
            e->ops->dropped(e->arg, e->chan[h].room);
        }
        free(e->chan[h].stage);
        free(e->chan[h].ring);
    }
    free(e->chan);
    free(e);
}

enum pli_impi_err pli_impi_engine_open(struct pli_impi_engine *e, uint32_t host)
{
    if (!pli_impi_engine_is_peer(e, host) || e->chan[host].state != C_NONE) {
        return PLI_IMPI_ERR_ARG;
    }
    struct chan *c = &e->chan[host];
    c->stage = malloc(STAGE);
    c->ring = malloc(RING * sizeof *c->ring);
    if (c->stage == NULL || c->ring == NULL) {
        free(c->stage);
        free(c->ring);
        c->stage = NULL;
        c->ring = NULL;
        return PLI_IMPI_ERR_NOMEM;
    }
    pli_impi_engine_go(c, C_OPEN);
    c->wants_fini = e->is_finishing;
    if (c->n_queued > 0 || c->wants_fini) { // sends may have come first
        pli_impi_engine_flow_tell(c);
    }
    return PLI_IMPI_OK;
}

static void clear_pairs(struct chan *c)
{
    struct pli_impi_idmap *m = &c->e->pairs;
    for (size_t i = 0; i < m->cap; i++) {
        struct pair *p = m->slot[i].value;
        if (p != NULL && p->chan == c) {
            pli_impi_engine_flow_clear(p);
        }
    }
    c->ready = c->ready_tail = c->owing = c->owing_tail = NULL;
    c->n_queued = 0;
}

// Forget every send to a host that will not take it any more, and tell. What is on the wire at this
// moment stays until it is written.
void pli_impi_engine_drop_sends(struct chan *c, enum pli_impi_err err)
{
    struct pli_impi_engine *e = c->e;
    struct pli_impi_idmap *m = &e->sends;
    struct send *list = NULL;
    clear_pairs(c);
    for (size_t i = 0; i < m->cap;) {
        struct send *s = m->slot[i].value;
        if (m->slot[i].id == 0 || s->pair->chan != c || s->n_wire > 0) {
            i++;
            continue;
        }
        pli_impi_idmap_remove(m, s->id); // moves another one here: look again
        s->next = list;
        list = s;
    }
    while (list != NULL) {
        struct send *s = list;
        list = s->next;
        if (s->has_cancel) {
            e->ops->cancelled(e->arg, s->id, false);
        }
        if (s->state != S_CANCEL) {
            e->ops->sent(e->arg, s->id, err);
        }
        free(s);
    }
}

// Nothing more can be written: what was on the wire is not.
static void cut_wire(struct chan *c)
{
    for (uint32_t i = 0; i < c->n_item; i++) {
        struct item *it = &c->ring[(c->first + i) % RING];
        if (it->send != NULL) {
            it->send->n_wire = 0;
        }
    }
    c->n_item = 0;
    c->at_item = c->n_byte = 0;
}

enum pli_impi_err pli_impi_engine_lose(struct chan *c, enum pli_impi_err err, const char *fmt, ...)
{
    struct pli_impi_engine *e = c->e;
    const struct pli_impi_job_host *us = &e->job->host[e->host], *them = &e->job->host[c->host];
    char why[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    pli_impi_log(&e->log, PLI_IMPI_LOG_ERROR,
                 "host %u of client %u lost host %u of client %u: %s (%s)", e->host, us->client,
                 c->host, them->client, why, pli_impi_err_text(err));
    pli_impi_engine_go(c, C_LOST);
    cut_wire(c);
    c->in_data = false;
    if (c->room != NULL) {
        void *room = c->room;
        c->room = NULL;
        e->ops->dropped(e->arg, room);
    }
    pli_impi_engine_drop_sends(c, PLI_IMPI_ERR_PEER);
    pli_impi_engine_recv_drop(c, PLI_IMPI_ERR_PEER);
    e->ops->peer_down(e->arg, c->host, err);
    return err;
}

void pli_impi_engine_eof(struct pli_impi_engine *e, uint32_t host, enum pli_impi_err why)
{
    struct chan *c = &e->chan[host];
    if (c->state == C_OVER || c->state == C_LOST || c->state == C_NONE) {
        return;
    }
    if (c->state == C_GOT) { // early, but it had nothing more to say or to hear
        pli_impi_log(&e->log, PLI_IMPI_LOG_WARN,
                     "host %u closed its connection to host %u before it had our FINI", host,
                     e->host);
        pli_impi_engine_go(c, C_OVER);
        cut_wire(c);
        pli_impi_engine_drop_sends(c, PLI_IMPI_ERR_CLOSED);
        e->ops->peer_down(e->arg, host, PLI_IMPI_OK);
        return;
    }
    (void)pli_impi_engine_lose(c, why == PLI_IMPI_OK ? PLI_IMPI_ERR_PEER : why,
                               "its connection ended before its FINI");
}

void pli_impi_engine_finish(struct pli_impi_engine *e)
{
    e->is_finishing = true;
    for (uint32_t h = 0; h < e->job->n_host; h++) {
        struct chan *c = &e->chan[h];
        if (c->state == C_OPEN || c->state == C_GOT) {
            c->wants_fini = true;
            pli_impi_engine_flow_tell(c);
        }
    }
}

enum pli_impi_link pli_impi_engine_link(const struct pli_impi_engine *e, uint32_t host)
{
    switch (e->chan[host].state) {
    case C_NONE:
        return PLI_IMPI_LINK_NONE;
    case C_OVER:
        return PLI_IMPI_LINK_OVER;
    case C_LOST:
        return PLI_IMPI_LINK_LOST;
    default:
        return PLI_IMPI_LINK_OPEN;
    }
}

bool pli_impi_engine_has_fini(const struct pli_impi_engine *e, uint32_t host)
{
    return e->chan[host].has_fini;
}

bool pli_impi_engine_is_over(const struct pli_impi_engine *e)
{
    for (uint32_t h = 0; h < e->job->n_host; h++) {
        enum chan_state s = e->chan[h].state;
        if (pli_impi_engine_is_peer(e, h) && s != C_OVER && s != C_LOST) {
            return false;
        }
    }
    return true;
}

uint32_t pli_impi_engine_max_unacked(const struct pli_impi_engine *e)
{
    uint32_t max = 0;
    for (size_t i = 0; i < e->pairs.cap; i++) {
        const struct pair *p = e->pairs.slot[i].value;
        max = p != NULL && p->sent > max ? p->sent : max;
    }
    return max;
}

static void *quiet_room(void *arg, const struct pli_impi_arrival *a)
{
    (void)arg;
    (void)a;
    return NULL;
}

static void quiet_dropped(void *arg, void *room)
{
    (void)arg;
    (void)room;
}

static void quiet_arrived(void *arg, const struct pli_impi_arrival *a, void *room)
{
    (void)arg;
    (void)a;
    (void)room;
}

static void quiet_part(void *arg, uint64_t handle, uint64_t offset, uint32_t len)
{
    (void)arg;
    (void)handle;
    (void)offset;
    (void)len;
}

static void quiet_left(void *arg, uint64_t req, uint64_t upto)
{
    (void)arg;
    (void)req;
    (void)upto;
}

static void quiet_req(void *arg, uint64_t req, enum pli_impi_err err)
{
    (void)arg;
    (void)req;
    (void)err;
}

static void quiet_matched(void *arg, uint64_t req)
{
    (void)arg;
    (void)req;
}

static void quiet_cancelled(void *arg, uint64_t req, bool yes)
{
    (void)arg;
    (void)req;
    (void)yes;
}

static void quiet_cancel_asked(void *arg, const struct pli_impi_cancel *c)
{
    (void)arg;
    (void)c;
}

static void quiet_host(void *arg, uint32_t host)
{
    (void)arg;
    (void)host;
}

static void quiet_down(void *arg, uint32_t host, enum pli_impi_err err)
{
    (void)arg;
    (void)host;
    (void)err;
}

const struct pli_impi_engine_ops pli_impi_engine_quiet = {
    .room = quiet_room,
    .dropped = quiet_dropped,
    .arrived = quiet_arrived,
    .part = quiet_part,
    .received = quiet_req,
    .left = quiet_left,
    .sent = quiet_req,
    .matched = quiet_matched,
    .cancelled = quiet_cancelled,
    .cancel_asked = quiet_cancel_asked,
    .peer_fini = quiet_host,
    .peer_down = quiet_down,
};
