// SPDX-License-Identifier: BSD-3-Clause
// Turns frames of processes into messages of the engine, and events of the engine into frames.
#include "agent/agent_priv.h"
#include <stdlib.h>
#include <string.h>

static struct pli_impi_engine *engine(struct agent *a)
{
    return pli_impi_net_engine(a->net);
}

static struct proc *proc_of(struct agent *a, uint32_t world)
{
    return a->proc[world - a->first_rank];
}

// The message has left, or will not.
static void release(struct sending *s)
{
    if (s->is_shared && s->data != NULL) {
        struct pli_agent_frame f = { .type = PLI_AGENT_GIVE,
                                     .handle = pli_agent_memory_offset(&s->proc->memory, s->data) };
        pli_agent_put(s->proc, &f, NULL, NULL);
    } else {
        free(s->data);
    }
    s->data = NULL;
}

static void forget(struct agent *a, struct sending *s)
{
    pli_impi_idmap_remove(&a->sends, s->req);
    if (pli_impi_idmap_find(&s->proc->sends, s->id) == s) {
        pli_impi_idmap_remove(&s->proc->sends, s->id);
    }
    release(s);
    free(s);
}

// In the memory of its process there is room for all of it at once.
static void *op_room(void *arg, const struct pli_impi_arrival *in)
{
    void *room = pli_agent_memory_take(&proc_of(arg, in->env.dst)->memory, in->msglen);
    return room != NULL ? room : malloc(in->len);
}

static void op_dropped(void *arg, void *room)
{
    struct agent *a = arg;
    for (uint32_t i = 0; i < a->conf.n_proc; i++) {
        struct pli_agent_memory *m = &a->proc[i]->memory;
        if (pli_agent_memory_has(m, room)) {
            pli_agent_memory_give(m, pli_agent_memory_offset(m, room));
            return;
        }
    }
    free(room);
}

struct recving { // the rest of a long message
    struct proc *proc;
    uint64_t cap;
    unsigned char *base; // in the memory of the process, or behind this
    bool is_shared;
    unsigned char own[];
};

static struct recving *begin_recv(struct agent *a, struct proc *p, uint64_t handle, uint64_t cap,
                                  unsigned char *shared)
{
    struct recving *r = malloc(sizeof *r + (shared != NULL ? 0 : cap));
    if (r == NULL || pli_impi_idmap_add(&a->recvs, handle, r) != PLI_IMPI_OK) {
        free(r);
        pli_agent_fail(a, "out of memory for a message of %llu bytes", (unsigned long long)cap);
        return NULL;
    }
    r->proc = p;
    r->cap = cap;
    r->is_shared = shared != NULL;
    r->base = shared != NULL ? shared : r->own;
    return r;
}

static void op_arrived(void *arg, const struct pli_impi_arrival *in, void *room)
{
    struct agent *a = arg;
    pli_agent_begin(a);
    struct pli_agent_frame f = { .type = PLI_AGENT_ARRIVED,
                                 .len = in->len,
                                 .peer = in->env.src,
                                 .cid = in->env.cid,
                                 .lsrank = in->env.lsrank,
                                 .tag = in->env.tag,
                                 .msglen = in->msglen,
                                 .srqid = in->srqid,
                                 .handle = in->handle };
    struct proc *p = proc_of(a, in->env.dst);
    if (room != NULL && pli_agent_memory_has(&p->memory, room)) {
        f.flags = PLI_AGENT_IS_SHARED;
        f.id = pli_agent_memory_offset(&p->memory, room);
        f.n = in->len;
        f.len = 0;
        if (in->len < in->msglen && begin_recv(a, p, in->handle, in->msglen, room) == NULL) {
            return;
        }
        room = NULL;
    }
    pli_agent_put(p, &f, room, room);
}

static void op_part(void *arg, uint64_t handle, uint64_t offset, uint32_t len)
{
    struct agent *a = arg;
    struct recving *r = pli_impi_idmap_find(&a->recvs, handle);
    if (r == NULL || offset >= r->cap || r->is_shared) {
        return; // or it is there
    }
    struct pli_agent_frame f = { .type = PLI_AGENT_PART,
                                 .len = len < r->cap - offset ? len : r->cap - offset,
                                 .handle = handle,
                                 .msglen = offset };
    pli_agent_put(r->proc, &f, r->base + offset, NULL);
}

static void op_received(void *arg, uint64_t handle, enum pli_impi_err err)
{
    struct agent *a = arg;
    struct recving *r = pli_impi_idmap_find(&a->recvs, handle);
    if (r == NULL) {
        return;
    }
    pli_impi_idmap_remove(&a->recvs, handle);
    struct pli_agent_frame f = { .type = PLI_AGENT_RECEIVED,
                                 .handle = handle,
                                 .flags = err == PLI_IMPI_OK ? 0 : PLI_AGENT_IS_BAD };
    pli_agent_put(r->proc, &f, NULL, r); // freed after its parts have been written
}

static void op_sent(void *arg, uint64_t req, enum pli_impi_err err)
{
    struct agent *a = arg;
    struct sending *s = pli_impi_idmap_find(&a->sends, req);
    if (s == NULL) {
        return;
    }
    struct pli_agent_frame f = { .type = PLI_AGENT_SENT,
                                 .id = s->id,
                                 .srqid = req,
                                 .flags = err == PLI_IMPI_OK ? 0 : PLI_AGENT_IS_BAD };
    pli_agent_put(s->proc, &f, NULL, NULL);
    s->is_sent = true;
    release(s);
    if (err != PLI_IMPI_OK || ((!s->is_sync || s->is_matched) && !s->has_cancel)) {
        forget(a, s);
    }
}

static void op_matched(void *arg, uint64_t req)
{
    struct agent *a = arg;
    struct sending *s = pli_impi_idmap_find(&a->sends, req);
    if (s == NULL) {
        return;
    }
    s->is_matched = true;
    if (s->is_sync) {
        struct pli_agent_frame f = { .type = PLI_AGENT_MATCHED, .id = s->id };
        pli_agent_put(s->proc, &f, NULL, NULL);
    }
    if (s->is_sent && !s->has_cancel) {
        forget(a, s);
    }
}

// req: 0 if it was not known.
static void tell_cancelled(struct proc *p, uint64_t id, uint64_t req, bool yes)
{
    struct pli_agent_frame f = {
        .type = PLI_AGENT_CANCELLED, .id = id, .srqid = req, .flags = yes ? PLI_AGENT_IS_YES : 0
    };
    pli_agent_put(p, &f, NULL, NULL);
}

static void op_cancelled(void *arg, uint64_t req, bool yes)
{
    struct agent *a = arg;
    struct sending *s = pli_impi_idmap_find(&a->sends, req);
    if (s == NULL) {
        return;
    }
    tell_cancelled(s->proc, s->id, req, yes);
    s->has_cancel = false;
    if (yes || (s->is_sent && (!s->is_sync || s->is_matched))) {
        forget(a, s);
    }
}

static void op_cancel_asked(void *arg, const struct pli_impi_cancel *c)
{
    struct agent *a = arg;
    pli_agent_begin(a);
    struct proc *p = proc_of(a, c->dst);
    if (p->link == NULL) { // it has finalized and matches nothing any more
        (void)pli_impi_engine_answer(engine(a), c, 0, false);
        return;
    }
    struct pli_agent_frame f = { .type = PLI_AGENT_ASKED, .peer = c->src, .srqid = c->srqid };
    pli_agent_put(p, &f, NULL, NULL);
}

static void op_peer_fini(void *arg, uint32_t host)
{
    (void)arg;
    (void)host;
}

static void op_peer_down(void *arg, uint32_t host, enum pli_impi_err err)
{
    struct agent *a = arg;
    if (err != PLI_IMPI_OK && !a->conf.env.has_token) { // the engine has told why
        const struct pli_impi_job *job = pli_impi_net_job(a->net);
        pli_agent_fail(a, "client %u has lost client %u: %s", a->conf.env.rank,
                       job->host[host].client, pli_impi_err_text(err));
    }
}

// Messages of processes are whole: none is sent from a ring.
static void op_left(void *arg, uint64_t req, uint64_t upto)
{
    (void)arg;
    (void)req;
    (void)upto;
}

const struct pli_impi_engine_ops pli_agent_relay_ops = {
    .room = op_room,
    .dropped = op_dropped,
    .arrived = op_arrived,
    .part = op_part,
    .received = op_received,
    .left = op_left,
    .sent = op_sent,
    .matched = op_matched,
    .cancelled = op_cancelled,
    .cancel_asked = op_cancel_asked,
    .peer_fini = op_peer_fini,
    .peer_down = op_peer_down,
};

static uint32_t world_of(const struct proc *p)
{
    return p->a->first_rank + p->index;
}

// A process sends: the engine has the message as soon as its head is there.
static struct sending *begin_send(struct proc *p, const struct pli_agent_frame *f,
                                  unsigned char *data, uint64_t ready)
{
    struct agent *a = p->a;
    bool is_shared = (f->flags & PLI_AGENT_IS_SHARED) != 0;
    struct sending *s = calloc(1, sizeof *s);
    if (s == NULL) {
        free(is_shared ? NULL : data);
        pli_agent_fail(a, "out of memory");
        return NULL;
    }
    *s = (struct sending){
        .id = f->id,
        .proc = p,
        .data = data,
        .is_shared = is_shared,
        .is_sync = (f->flags & PLI_AGENT_IS_SYNC) != 0,
    };
    struct pli_impi_send what = { .env = { .src = world_of(p),
                                           .dst = f->peer,
                                           .cid = f->cid,
                                           .lsrank = f->lsrank,
                                           .tag = f->tag },
                                  .data = data,
                                  .len = is_shared ? f->msglen : f->len,
                                  .ready = ready,
                                  .is_sync = s->is_sync };
    enum pli_impi_err err = pli_impi_engine_send(engine(a), &what, &s->req);
    if (err == PLI_IMPI_OK && (pli_impi_idmap_add(&a->sends, s->req, s) != PLI_IMPI_OK ||
                               pli_impi_idmap_add(&p->sends, s->id, s) != PLI_IMPI_OK)) {
        err = PLI_IMPI_ERR_NOMEM;
    }
    if (err != PLI_IMPI_OK) {
        pli_agent_fail(a, "process %u cannot send to process %u: %s", world_of(p), f->peer,
                       pli_impi_err_text(err));
        free(is_shared ? NULL : data);
        free(s);
        return NULL;
    }
    return s;
}

static void *link_room(void *arg, const struct pli_agent_frame *f)
{
    struct proc *p = arg;
    // a connection that has not said which process it is may only do so
    if (p->index == UINT32_MAX) {
        bool is_hello = f->type == PLI_AGENT_HELLO && f->len == PLI_AGENT_TOKEN && !p->is_bad;
        return is_hello ? malloc(PLI_AGENT_TOKEN) : NULL;
    }
    if (f->type != PLI_AGENT_SEND || p->a->state != A_RUN || f->id == 0) {
        return NULL;
    }
    unsigned char *data = malloc(f->len);
    if (data != NULL && f->len > pli_impi_net_job(p->a->net)->datalen &&
        begin_send(p, f, data, 0) == NULL) {
        return NULL;
    }
    return data;
}

static void link_more(void *arg, const struct pli_agent_frame *f, void *room, uint64_t got)
{
    struct proc *p = arg;
    struct sending *s = pli_impi_idmap_find(&p->sends, f->id);
    if (f->type == PLI_AGENT_SEND && s != NULL && s->data == room) {
        (void)pli_impi_engine_more(engine(p->a), s->req, got);
    }
}

static void on_send(struct proc *p, const struct pli_agent_frame *f, void *room)
{
    if ((f->flags & PLI_AGENT_IS_SHARED) != 0) {
        unsigned char *data = pli_agent_memory_at(&p->memory, f->handle, f->msglen);
        if (data == NULL || f->len != 0) {
            pli_agent_fail(p->a, "process %u named memory that is not there", world_of(p));
        } else {
            (void)begin_send(p, f, data, f->msglen); // has failed the agent if it failed
        }
        return;
    }
    if (f->len <= pli_impi_net_job(p->a->net)->datalen) {
        (void)begin_send(p, f, room, f->len); // has failed the agent if it failed
        return;
    }
    struct sending *s = pli_impi_idmap_find(&p->sends, f->id); // begun with its head
    if (s != NULL) {
        (void)pli_impi_engine_more(engine(p->a), s->req, f->len);
    }
}

static void on_accept(struct proc *p, const struct pli_agent_frame *f)
{
    struct agent *a = p->a;
    struct recving *r = pli_impi_idmap_find(&a->recvs, f->handle); // in the process's memory
    if (r != NULL && r->proc == p) {
        r->cap = f->msglen < r->cap ? f->msglen : r->cap;
    } else if (f->flags != 0) { // a short one: only its sender waits for this
        r = begin_recv(a, p, f->handle, f->msglen, NULL);
        if (r == NULL) {
            return;
        }
    }
    (void)pli_impi_engine_accept(engine(a), f->handle, r != NULL ? r->base : NULL,
                                 r != NULL ? r->cap : 0);
}

// A message that its sender wants back.
static void on_answer(struct proc *p, const struct pli_agent_frame *f)
{
    struct agent *a = p->a;
    struct pli_impi_cancel c = { .src = f->peer, .dst = world_of(p), .srqid = f->srqid };
    bool yes = (f->flags & PLI_AGENT_IS_YES) != 0;
    struct recving *r = yes ? pli_impi_idmap_find(&a->recvs, f->handle) : NULL;
    (void)pli_impi_engine_answer(engine(a), &c, f->handle, yes);
    if (r != NULL && r->proc == p) {
        pli_impi_idmap_remove(&a->recvs, f->handle);
        free(r);
    }
}

static void on_cancel(struct proc *p, const struct pli_agent_frame *f)
{
    struct agent *a = p->a;
    struct sending *s = pli_impi_idmap_find(&p->sends, f->id);
    if (s == NULL) {
        s = pli_impi_idmap_find(&a->sends, f->srqid);
    }
    if (s == NULL && f->srqid != 0) { // it was sent already; only the answer is of interest
        s = calloc(1, sizeof *s);
        if (s == NULL || pli_impi_idmap_add(&a->sends, f->srqid, s) != PLI_IMPI_OK) {
            free(s);
            tell_cancelled(p, f->id, f->srqid, false);
            return;
        }
        *s = (struct sending){ .id = f->id, .req = f->srqid, .proc = p, .is_sent = true };
    }
    enum pli_impi_cancel_result result = PLI_IMPI_CANCEL_LATE;
    if (s != NULL) {
        struct pli_impi_cancel c = { .src = world_of(p), .dst = f->peer, .srqid = s->req };
        if (pli_impi_engine_cancel(engine(a), &c, &result) != PLI_IMPI_OK) {
            result = PLI_IMPI_CANCEL_LATE;
        }
    }
    if (result == PLI_IMPI_CANCEL_ASKED) {
        s->has_cancel = true;
        return;
    }
    tell_cancelled(p, f->id, s != NULL ? s->req : 0, result == PLI_IMPI_CANCEL_DONE);
    if (s != NULL && (result == PLI_IMPI_CANCEL_DONE || (s->is_sent && !s->is_sync))) {
        forget(a, s);
    }
}

static void link_whole(void *arg, const struct pli_agent_frame *f, void *room)
{
    struct proc *p = arg;
    struct agent *a = p->a;
    if (p->index == UINT32_MAX) {
        p->is_bad = p->is_bad || f->type != PLI_AGENT_HELLO || !pli_agent_hello(p, f, room);
        free(room);
        return;
    }
    if (a->state != A_RUN) {
        if (a->state != A_FAILED) {
            pli_agent_fail(a, "a process spoke out of turn");
        }
        return;
    }
    switch (f->type) {
    case PLI_AGENT_SEND:
        on_send(p, f, room);
        break;
    case PLI_AGENT_ACCEPT:
        on_accept(p, f);
        break;
    case PLI_AGENT_CANCEL:
        on_cancel(p, f);
        break;
    case PLI_AGENT_ANSWER:
        on_answer(p, f);
        break;
    case PLI_AGENT_GIVE:
        pli_agent_memory_give(&p->memory, f->handle);
        break;
    case PLI_AGENT_FINAL:
        pli_agent_final(p);
        break;
    default:
        pli_agent_fail(a, "process %u sent a frame of type %u", world_of(p), f->type);
    }
}

const struct pli_agent_link_ops pli_agent_relay_link = {
    .room = link_room,
    .more = link_more,
    .whole = link_whole,
};

void pli_agent_relay_clear(struct agent *a)
{
    for (size_t i = 0; i < a->sends.cap; i++) {
        struct sending *s = a->sends.slot[i].value;
        if (s != NULL) {
            free(s->is_shared ? NULL : s->data);
            free(s);
        }
    }
    pli_impi_idmap_fini(&a->sends);
    for (size_t i = 0; i < a->recvs.cap; i++) {
        free(a->recvs.slot[i].value);
    }
    pli_impi_idmap_fini(&a->recvs);
}
