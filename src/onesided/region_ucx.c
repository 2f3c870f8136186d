// SPDX-License-Identifier: BSD-3-Clause
// Accesses far members by UCX's own operations.
// A member registers its memory with UCX in chunks, each when another member first asks for its
// key, so that a device pins what others reach for and no more. The answer is not waited for:
// until it is here accesses go as messages.
#include "onesided/region_ucx.h"

#include "base/log.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_lane.h"
#include "net/ucx/ucx_conn.h"
#include "net/ucx/ucx_net.h"
#include "obj/comm.h"
#include "onesided/region_msg.h"
#include "onesided/region_priv.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16 << 20 };

// A chunk of a member's memory, as this side reaches it.
struct pli_region_chunk {
    uint64_t from, to, address;
    bool is_asked;           // the member was asked for it
    bool has_device;         // on both sides
    struct pli_ucx_key *key; // NULL: not by UCX, or not yet
};

// A chunk of this member's memory that others reach.
struct pli_region_registration {
    struct pli_region_registration *next;
    uint64_t chunk;
    struct pli_ucx_mem ucx; // without a key: it cannot be registered
};

enum pli_err pli_region_ucx_open(struct pli_region *r)
{
    const struct pli_tcp_lane *net = pli_tcp_lane_of(pli_region_msg_lane(r));
    if (!r->plan.may_register || !r->plan.has_far || net == NULL || net->ucx == NULL ||
        !net->ucx->may_register) {
        return PLI_OK;
    }
    r->has_device = pli_ucx_has_device();
    r->has_ucx = true;
    pli_lock_take(&net->base.lane->lock);
    net->ucx->n_region++;
    pli_lock_drop(&net->base.lane->lock);
    return PLI_OK;
}

void pli_region_ucx_close(struct pli_region *r)
{
    if (!r->has_ucx) {
        return;
    }
    struct pli_lane *lane = pli_region_msg_lane(r);
    pli_lock_take(&lane->lock);
    for (int i = 0; i < r->comm->size; i++) {
        for (size_t k = 0; k < r->members[i].n_chunk; k++) {
            pli_ucx_key_destroy(r->members[i].chunks[k].key);
        }
        free(r->members[i].chunks);
    }
    pli_tcp_lane_of(lane)->ucx->n_region--;
    pli_lock_drop(&lane->lock);
    while (r->registrations != NULL) {
        struct pli_region_registration *m = r->registrations;
        r->registrations = m->next;
        pli_ucx_mem_unmap(&m->ucx);
        free(m);
    }
    pli_log(PLI_DEBUG, "%s: %llu one-sided accesses went by UCX", pli_comm_say(r->comm),
            (unsigned long long)atomic_load(&r->n_ucx));
}

static struct pli_region_registration *registration_of(struct pli_region *r, uint64_t chunk,
                                                       uint64_t from, uint64_t to)
{
    for (struct pli_region_registration *m = r->registrations; m != NULL; m = m->next) {
        if (m->chunk == chunk) {
            return m;
        }
    }
    struct pli_region_registration *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return NULL;
    }
    m->chunk = chunk;
    m->next = r->registrations;
    r->registrations = m;
    if (pli_ucx_mem_map(r->plan.base + from, to - from, &m->ucx) != PLI_OK) {
        pli_log(PLI_INFO, "%s; messages reach it", pli_fail_take(NULL));
    }
    return m;
}

size_t pli_region_ucx_register(struct pli_region *r, uint64_t at, struct pli_region_key *out)
{
    uint64_t chunk = at / CHUNK, from = chunk * CHUNK, to = from + CHUNK;
    from = from < r->plan.gap ? r->plan.gap : from;
    to = to < r->plan.size ? to : r->plan.size;
    if (!r->has_ucx || at < from || at >= to) {
        return 0;
    }
    const struct pli_region_registration *m = registration_of(r, chunk, from, to);
    if (m == NULL || m->ucx.key == NULL || m->ucx.n_key > sizeof out->key) {
        return 0;
    }
    out->from = from;
    out->to = to;
    out->address = (uint64_t)(uintptr_t)r->plan.base + from;
    out->has_device = r->has_device;
    out->n = (uint32_t)m->ucx.n_key;
    memcpy(out->key, m->ucx.key, m->ucx.n_key);
    return PLI_REGION_KEY_HEAD + m->ucx.n_key;
}

// The connection by UCX to a member, if there is one. Context: lane locked.
static struct pli_tcp_conn *conn_to(const struct pli_region *r, int member)
{
    struct pli_conn *c =
        pli_lane_conn(pli_region_msg_lane(r), pli_group_at(r->comm->remote, member));
    struct pli_tcp_conn *tc = c != NULL ? pli_ucx_net_conn(c) : NULL;
    return tc != NULL && tc->by_ucx && tc->ucx->peer != NULL ? tc : NULL;
}

// Room to remember a chunk; false: no memory. Context: lane locked.
static bool make_room(struct pli_region_member *m, size_t chunk)
{
    if (chunk < m->n_chunk) {
        return true;
    }
    struct pli_region_chunk *all = realloc(m->chunks, (chunk + 1) * sizeof *all);
    if (all == NULL) {
        return false;
    }
    memset(all + m->n_chunk, 0, (chunk + 1 - m->n_chunk) * sizeof *all);
    m->chunks = all;
    m->n_chunk = chunk + 1;
    return true;
}

// Context: lane locked.
static void take_key(struct pli_region *r, int member, const struct pli_region_key *k,
                     struct pli_region_chunk *s)
{
    s->from = k->from;
    s->to = k->to;
    s->address = k->address;
    s->has_device = k->has_device != 0 && r->has_device;
    struct pli_tcp_conn *tc = conn_to(r, member);
    if (tc != NULL && pli_ucx_key_unpack(tc->ucx->peer, k->key, &s->key) != PLI_OK) {
        pli_log(PLI_INFO, "memory of member %d is reached by messages: %s", member,
                pli_fail_take(NULL));
    }
}

// The answer to a question for a key; its message has the number of the chunk. Context: lane
// locked.
static void key_came(struct pli_request_child *c)
{
    struct pli_region_part *m = (struct pli_region_part *)c;
    struct pli_region *r = m->region;
    int member = (int)(m->member - r->members);
    uint64_t len = c->r.bytes, number = m->msg.bytes, begin = number * CHUNK;
    struct pli_region_chunk *s = &m->member->chunks[number];
    const struct pli_region_key *k = (const struct pli_region_key *)(const void *)m->msg.data;
    if (c->r.err == PLI_OK && len >= PLI_REGION_KEY_HEAD && len == PLI_REGION_KEY_HEAD + k->n &&
        k->from >= begin && k->to <= begin + CHUNK && k->from < k->to) {
        take_key(r, member, k, s);
    }
    pli_log(PLI_DEBUG, "chunk %llu of member %d is reached %s", (unsigned long long)number, member,
            s->key == NULL  ? "by messages"
            : s->has_device ? "by a device"
                            : "by UCX");
    pli_region_msg_free(c);
    atomic_fetch_sub_explicit(&r->n_out, 1, memory_order_release);
    pli_lane_wake(pli_region_msg_lane(r));
}

// Ask the owner for the key of a chunk. What it answers is remembered, also a no.
static void ask_key(struct pli_region *r, int member, size_t chunk)
{
    uint64_t at = (uint64_t)chunk * CHUNK;
    const struct pli_region_block b = { (int64_t)(at < r->plan.gap ? r->plan.gap : at), 1, 0, 1 };
    struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_KEY, sizeof b);
    struct pli_region_part *key = pli_region_msg_new(r, 0, sizeof(struct pli_region_key));
    if (m == NULL || key == NULL) {
        free(m);
        free(key);
        return;
    }
    pli_region_msg_blocks(m, &b, 1);
    m->msg.tag = pli_region_msg_tag(r);
    key->msg.bytes = chunk;
    key->child.done = key_came;
    if (pli_region_msg_receive(key, member, m->msg.tag, key->msg.data,
                               sizeof(struct pli_region_key), pli_region_msg_byte()) != PLI_OK) {
        free(m);
        pli_fail_take(NULL); // it died, and the access reports that
    } else if (pli_region_msg_send(m, member, sizeof b) != PLI_OK) {
        pli_fail_take(NULL);
        key->child.r.ops->cancel(&key->child.r);
    }
}

// The chunk around an offset; NULL: it is not known how it is reached. Context: lane locked.
static const struct pli_region_chunk *find(const struct pli_region_member *m, uint64_t at)
{
    return at / CHUNK < m->n_chunk ? &m->chunks[at / CHUNK] : NULL;
}

// Whether the bytes from `at` on, up to the end of the chunk or of the transfer, have a key.
// *ask_out: the owner is to be asked for it. Context: lane locked.
static bool has_key(struct pli_region_member *m, uint64_t at, size_t len, bool needs_device,
                    bool *ask_out)
{
    const struct pli_region_chunk *s = find(m, at);
    *ask_out = false;
    if ((s == NULL || !s->is_asked) && make_room(m, at / CHUNK)) {
        m->chunks[at / CHUNK].is_asked = *ask_out = true;
        return false;
    }
    uint64_t end = (at / CHUNK + 1) * CHUNK;
    end = len < end - at ? at + len : end;
    return s != NULL && s->key != NULL && at >= s->from && end <= s->to &&
           (s->has_device || !needs_device);
}

static bool has_all(struct pli_region *r, int member, uint64_t at, size_t len, bool needs_device)
{
    struct pli_lane *lane = pli_region_msg_lane(r);
    bool has = true;
    for (uint64_t next; len > 0; len -= next - at, at = next) {
        bool must_ask;
        next = (at / CHUNK + 1) * CHUNK;
        next = len < next - at ? at + len : next;
        pli_lock_take(&lane->lock);
        has = has_key(&r->members[member], at, next - at, needs_device, &must_ask) && has;
        pli_lock_drop(&lane->lock);
        if (must_ask) {
            ask_key(r, member, at / CHUNK);
        }
    }
    return has;
}

bool pli_region_ucx_has(struct pli_region *r, int member, uint64_t at, size_t len)
{
    return r->has_ucx && (r->has_device || r->is_always) &&
           has_all(r, member, at, len, !r->is_always);
}

// An access as a part of an operation.
static enum pli_err reach(struct pli_region_access *op, int member, struct pli_ucx_conn_access *a,
                          uint64_t at)
{
    struct pli_region *r = op->region;
    struct pli_lane *lane = pli_region_msg_lane(r);
    struct pli_region_part *m = pli_region_msg_new(r, 0, 0);
    if (m == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_region_msg_add(op, m);
    pli_lock_take(&lane->lock);
    if (a->kind != PLI_UCX_CONN_FLUSH) {
        const struct pli_region_chunk *s = find(&r->members[member], at);
        a->at = s->address + (at - s->from);
        a->key = s->key;
        atomic_fetch_add_explicit(&r->n_ucx, 1, memory_order_relaxed);
    }
    struct pli_request *req = pli_region_msg_plain(m, member, a->n);
    struct pli_tcp_conn *tc = conn_to(r, member);
    if (tc == NULL || !pli_ucx_conn_access(tc, req, a)) {
        pli_request_complete(req, PLI_ERR_PROC_ABORTED);
    }
    pli_lock_drop(&lane->lock);
    return PLI_OK;
}

enum pli_err pli_region_ucx_move(struct pli_region_access *op, int member, uint64_t at, void *mine,
                                 size_t len, bool is_put)
{
    enum pli_err err = PLI_OK;
    struct pli_region_member *m = &op->region->members[member];
    if (!is_put) {
        atomic_store_explicit(&m->is_reading, true, memory_order_relaxed);
    }
    for (uint64_t done = 0, n; done < len && err == PLI_OK; done += n) {
        uint64_t left = len - done, room = CHUNK - (at + done) % CHUNK;
        n = left < room ? left : room;
        struct pli_ucx_conn_access a = { .kind = is_put ? PLI_UCX_CONN_PUT : PLI_UCX_CONN_GET,
                                         .mine = (char *)mine + done,
                                         .n = n };
        err = reach(op, member, &a, at + done);
    }
    if (is_put) { // afterwards, as messages are counted
        atomic_fetch_add_explicit(&m->n_put, 1, memory_order_relaxed);
    }
    return err;
}

bool pli_region_ucx_is_dirty(struct pli_region *r, int member)
{
    struct pli_region_member *m = &r->members[member];
    return atomic_load_explicit(&m->n_put, memory_order_relaxed) !=
           atomic_load_explicit(&m->n_sure, memory_order_relaxed);
}

enum pli_err pli_region_ucx_flush_begin(struct pli_region *r, int to,
                                        struct pli_region_ucx_flush *f)
{
    f->req = NULL;
    f->member = &r->members[to];
    f->n_put = atomic_load_explicit(&f->member->n_put, memory_order_relaxed);
    if (!pli_region_ucx_is_dirty(r, to)) {
        return PLI_OK;
    }
    struct pli_region_access *op = pli_region_msg_begin(r, to, true);
    struct pli_ucx_conn_access a = { .kind = PLI_UCX_CONN_FLUSH };
    return op == NULL ? PLI_ERR_NOMEM : pli_region_msg_end(op, reach(op, to, &a, 0), &f->req);
}

// A failure counts as an end: the other side is gone.
enum pli_err pli_region_ucx_flush_end(struct pli_region_ucx_flush *f)
{
    if (f->req == NULL) {
        return PLI_OK;
    }
    enum pli_err err = pli_region_msg_finish(f->req, NULL);
    uint64_t n_seen = atomic_load_explicit(&f->member->n_sure, memory_order_relaxed);
    while (n_seen < f->n_put &&
           !atomic_compare_exchange_weak_explicit(&f->member->n_sure, &n_seen, f->n_put,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return err;
}

// UCX's name of an operation; the others, and all on floating-point numbers, take messages.
static bool find_atomic(enum pli_region_type type, enum pli_region_op op, enum pli_ucx_atomic *out)
{
    static const struct {
        enum pli_region_op op;
        enum pli_ucx_atomic is;
    } known[] = {
        { PLI_REGION_ADD, PLI_UCX_ADD },    { PLI_REGION_AND, PLI_UCX_AND },
        { PLI_REGION_OR, PLI_UCX_OR },      { PLI_REGION_XOR, PLI_UCX_XOR },
        { PLI_REGION_STORE, PLI_UCX_SWAP }, { PLI_REGION_CSWAP, PLI_UCX_CSWAP },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].op == op) {
            *out = known[i].is;
            return type != PLI_REGION_F32 && type != PLI_REGION_F64;
        }
    }
    return false;
}

bool pli_region_ucx_atomic(struct pli_region *r, int to, uint64_t at, enum pli_region_type type,
                           enum pli_region_op op, const void *a, const void *b, void *fetch,
                           enum pli_err *err_out)
{
    size_t size = pli_region_type_size(type);
    struct pli_ucx_conn_access x = { .kind = PLI_UCX_CONN_ATOMIC, .n = size };
    uint64_t old = 0;
    struct pli_request *req;
    if (!r->has_ucx || !find_atomic(type, op, &x.atomic) || !has_all(r, to, at, size, false)) {
        return false;
    }
    if (b != NULL) {
        memcpy(&old, b, size);
    }
    x.mine = &old;
    x.operand = a;
    struct pli_region_access *o = pli_region_msg_begin(r, to, true);
    *err_out = o == NULL ? PLI_ERR_NOMEM : pli_region_msg_end(o, reach(o, to, &x, at), &req);
    *err_out = *err_out == PLI_OK ? pli_region_msg_finish(req, NULL) : *err_out;
    if (*err_out == PLI_OK) {
        memcpy(fetch, &old, size);
    }
    return true;
}
