// SPDX-License-Identifier: BSD-3-Clause
// Access to far members by UCX. A member lends its memory in stretches, when somebody asks for the
// key of one: nobody pins what nobody reaches for. Neither puts of UCX nor messages wait for each
// other, so that who changes from one to the other, or goes on after a put, waits for what was
// before. That costs a trip, and this is for accesses to which it matters little.
#include "onesided/region_priv.h"

#include "base/conf.h"
#include "base/log.h"
#include "msg/endpoint.h"
#include "net/tcp/tcp_conn.h"
#include "net/ucx/ucx.h"
#include "net/ucx/ucx_conn.h"
#include "net/ucx/ucx_net.h"
#include "obj/comm.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCH = 16 << 20 };

// A stretch of a member's memory, as this side reaches it.
struct borrowed {
    uint64_t from, to, address;
    bool is_known; // the member was asked for it
    bool is_native;
    struct pli_ucx_key *key; // NULL: not by UCX
};

struct pli_region_way {
    struct borrowed *all; // by number of the stretch
    size_t n;
    bool is_dirty; // something was put that may not be there
};

// A stretch of this member's memory that others reach.
struct pli_region_loan {
    struct pli_region_loan *next;
    uint64_t stretch;
    struct pli_ucx_loan ucx; // without a key: it cannot be lent
};

static const struct pli_request_ops access_ops = {
    .name = "access to far memory",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

enum pli_err pli_region_ucx_open(struct pli_region *r)
{
    const struct pli_tcp_lane *net = pli_tcp_lane_of(r->comm->ep->lane);
    if (net == NULL || net->ucx == NULL || strcmp(pli_conf.ucx_rma, "never") == 0 ||
        !net->ucx->may_lend) {
        return PLI_OK;
    }
    r->is_native = pli_ucx_has_device();
    r->ways = calloc((size_t)r->comm->size, sizeof *r->ways);
    if (r->ways == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a region");
    }
    pli_lock_take(&net->base.lane->lock);
    net->ucx->n_region++;
    pli_lock_drop(&net->base.lane->lock);
    return PLI_OK;
}

void pli_region_ucx_close(struct pli_region *r)
{
    if (r->ways == NULL) {
        return;
    }
    struct pli_lane *lane = r->comm->ep->lane;
    pli_lock_take(&lane->lock);
    for (int i = 0; i < r->comm->size; i++) {
        for (size_t k = 0; k < r->ways[i].n; k++) {
            pli_ucx_return(r->ways[i].all[k].key);
        }
        free(r->ways[i].all);
    }
    pli_tcp_lane_of(lane)->ucx->n_region--;
    pli_lock_drop(&lane->lock);
    free(r->ways);
    while (r->loans != NULL) {
        struct pli_region_loan *m = r->loans;
        r->loans = m->next;
        pli_ucx_unlend(&m->ucx);
        free(m);
    }
}

static struct pli_region_loan *lend(struct pli_region *r, uint64_t stretch, uint64_t from,
                                    uint64_t to)
{
    for (struct pli_region_loan *m = r->loans; m != NULL; m = m->next) {
        if (m->stretch == stretch) {
            return m;
        }
    }
    struct pli_region_loan *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return NULL;
    }
    m->stretch = stretch;
    m->next = r->loans;
    r->loans = m;
    if (pli_ucx_lend(r->near[r->comm->rank] + from, to - from, &m->ucx) != PLI_OK) {
        pli_log(PLI_INFO, "%s; messages reach it", pli_fail_take(NULL));
    }
    return m;
}

size_t pli_region_ucx_lend(struct pli_region *r, uint64_t at, struct pli_region_key *out)
{
    uint64_t stretch = at / STRETCH, from = stretch * STRETCH, to = from + STRETCH;
    from = from < r->gap ? r->gap : from;
    to = to < r->size ? to : r->size;
    if (r->ways == NULL || at < from || at >= to) {
        return 0;
    }
    const struct pli_region_loan *m = lend(r, stretch, from, to);
    if (m == NULL || m->ucx.key == NULL || m->ucx.n_key > sizeof out->key) {
        return 0;
    }
    out->from = from;
    out->to = to;
    out->address = (uint64_t)(uintptr_t)r->near[r->comm->rank] + from;
    out->is_native = r->is_native;
    out->n = (uint32_t)m->ucx.n_key;
    memcpy(out->key, m->ucx.key, m->ucx.n_key);
    return PLI_REGION_KEY_HEAD + m->ucx.n_key;
}

// The way by UCX to a member, if there is one. Context: lane locked.
static struct pli_tcp_conn *link_to(const struct pli_region *r, int member)
{
    struct pli_conn *c = pli_lane_conn(r->comm->ep->lane, pli_group_at(r->comm->remote, member));
    struct pli_tcp_conn *l = c != NULL ? pli_ucx_net_conn(c) : NULL;
    return l != NULL && l->by_ucx && l->ucx->peer != NULL ? l : NULL;
}

// Room to remember a stretch; false: no memory.
static bool make_room(struct pli_region_way *w, size_t stretch)
{
    if (stretch < w->n) {
        return true;
    }
    struct borrowed *all = realloc(w->all, (stretch + 1) * sizeof *all);
    if (all == NULL) {
        return false;
    }
    memset(all + w->n, 0, (stretch + 1 - w->n) * sizeof *all);
    w->all = all;
    w->n = stretch + 1;
    return true;
}

static void take_key(struct pli_region *r, int member, const struct pli_region_key *k,
                     struct borrowed *b)
{
    struct pli_lane *lane = r->comm->ep->lane;
    b->from = k->from;
    b->to = k->to;
    b->address = k->address;
    b->is_native = k->is_native != 0 && r->is_native;
    pli_lock_take(&lane->lock);
    struct pli_tcp_conn *l = link_to(r, member);
    if (l != NULL && pli_ucx_borrow(l->ucx->peer, k->key, &b->key) != PLI_OK) {
        pli_log(PLI_INFO, "memory of member %d is reached by messages: %s", member,
                pli_fail_take(NULL));
    }
    pli_lock_drop(&lane->lock);
}

// Ask the owner for the stretch around an offset. What it answers is remembered, also a no.
static const struct borrowed *borrow(struct pli_region *r, int member, size_t at)
{
    struct pli_region_way *w = &r->ways[member];
    struct pli_region_key *k = malloc(sizeof *k);
    size_t len = 0;
    if (k == NULL || !make_room(w, at / STRETCH) ||
        pli_region_ask_key(r, member, at, k, &len) != PLI_OK) {
        free(k);
        return NULL;
    }
    struct borrowed *b = &w->all[at / STRETCH];
    b->is_known = true;
    if (len >= PLI_REGION_KEY_HEAD && len == PLI_REGION_KEY_HEAD + k->n && k->from <= at &&
        at < k->to) {
        take_key(r, member, k, b);
    }
    pli_log(PLI_DEBUG, "stretch %zu of member %d is reached %s", at / STRETCH, member,
            b->key == NULL ? "by messages"
            : b->is_native ? "by a device"
                           : "by UCX");
    free(k);
    return b;
}

// NULL: it cannot be known. Without a key: use messages; the owner may complain of the offset.
static const struct borrowed *find(struct pli_region *r, int member, size_t at)
{
    const struct pli_region_way *w = &r->ways[member];
    if (at >= r->size) {
        return NULL;
    }
    return at / STRETCH < w->n && w->all[at / STRETCH].is_known ? &w->all[at / STRETCH]
                                                                : borrow(r, member, at);
}

static bool is_always(void)
{
    return strcmp(pli_conf.ucx_rma, "always") == 0;
}

size_t pli_region_ucx_span(struct pli_region *r, int member, size_t at, size_t len, bool is_put)
{
    // Small puts are messages that nobody waits for; what follows one had better be a message, too.
    bool is_small = len < PLI_REGION_PIECE;
    if (r->ways == NULL ||
        (!is_always() && is_small && (is_put || pli_region_is_dirty(r, member)))) {
        return 0;
    }
    const struct borrowed *b = find(r, member, at);
    if (b == NULL || b->key == NULL || at < b->from || !(b->is_native || is_always())) {
        return 0;
    }
    return len < b->to - at ? len : b->to - at;
}

// A request for an access, under way.
static enum pli_err reach(struct pli_region *r, int member, const struct pli_ucx_conn_access *a,
                          struct pli_request **out)
{
    struct pli_lane *lane = r->comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_tcp_conn *l = link_to(r, member);
    struct pli_request *req = pli_request_create(lane);
    if (req == NULL) {
        pli_lock_drop(&lane->lock);
        return pli_fail(PLI_ERR_NOMEM, "no memory for an access to member %d", member);
    }
    pli_request_hold(r->comm);
    req->comm = r->comm;
    req->ops = &access_ops;
    req->flags = PLI_REQ_NO_STATUS;
    req->size = req->bytes = a->n;
    req->cursor = NULL;
    if (l == NULL || !pli_ucx_conn_reach(l, req, a)) {
        pli_request_complete(req, PLI_ERR_PROC_ABORTED);
    }
    pli_lock_drop(&lane->lock);
    *out = req;
    return PLI_OK;
}

enum pli_err pli_region_ucx_settle(struct pli_region *r, int to)
{
    if (r->ways == NULL || !r->ways[to].is_dirty) {
        return PLI_OK;
    }
    struct pli_request *req;
    const struct pli_ucx_conn_access a = { .kind = PLI_UCX_CONN_FLUSH };
    r->ways[to].is_dirty = false;
    enum pli_err err = reach(r, to, &a, &req);
    return err == PLI_OK ? pli_region_finish(req, NULL) : err;
}

enum pli_err pli_region_ucx_begin(struct pli_region *r, int member, size_t at, void *mine,
                                  size_t len, bool is_put, struct pli_request **out)
{
    enum pli_err err = pli_region_flush(r, member);
    if (err != PLI_OK) {
        return err;
    }
    const struct borrowed *b = find(r, member, at);
    const struct pli_ucx_conn_access a = { .kind = is_put ? PLI_UCX_CONN_PUT : PLI_UCX_CONN_GET,
                                           .mine = mine,
                                           .n = len,
                                           .at = b->address + (at - b->from),
                                           .key = b->key };
    r->ways[member].is_dirty = is_put;
    return reach(r, member, &a, out);
}

// What UCX has of our operations; the others, and all on floating-point numbers, take messages.
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

bool pli_region_ucx_atomic(struct pli_region *r, int to, size_t at, enum pli_region_type type,
                           enum pli_region_op op, const void *a, const void *b, void *fetch,
                           enum pli_err *err_out)
{
    size_t size = pli_region_type_size(type);
    struct pli_ucx_conn_access x = { .kind = PLI_UCX_CONN_ATOMIC, .n = size };
    uint64_t old = 0;
    // One that returns nothing is a message that nobody waits for, and one after such a message had
    // better be a message, too.
    if (r->ways == NULL || fetch == NULL || pli_region_is_dirty(r, to) || r->ways[to].is_dirty ||
        !find_atomic(type, op, &x.atomic)) {
        return false;
    }
    const struct borrowed *k = find(r, to, at);
    if (k == NULL || k->key == NULL || at < k->from || size > k->to - at) {
        return false;
    }
    if (b != NULL) {
        memcpy(&old, b, size);
    }
    x.mine = &old;
    x.operand = a;
    x.at = k->address + (at - k->from);
    x.key = k->key;
    struct pli_request *req;
    *err_out = reach(r, to, &x, &req);
    *err_out = *err_out == PLI_OK ? pli_region_finish(req, NULL) : *err_out;
    if (*err_out == PLI_OK) {
        memcpy(fetch, &old, size);
    }
    return true;
}
