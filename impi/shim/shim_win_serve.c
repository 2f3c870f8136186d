// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of a window: one receive for what others ask, posted again when it is dealt
// with, so that what a member does here happens in the order of its messages.
#include "shim/shim_win.h"
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = sizeof(struct pli_region_msg) + PLI_REGION_N_BLOCK * sizeof(struct pli_region_block) +
           PLI_REGION_ROOM,
    ELEM_MAX = 64
};

bool pli_shim_win_serve_has(const struct shim_win *w, int64_t at, uint64_t len)
{
    if (w->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return at >= 0 && at <= w->size && len <= (uint64_t)(w->size - at);
    }
    for (const struct shim_win_attached *a = w->attached; a != NULL; a = a->next) {
        if ((uintptr_t)at >= a->at && len <= a->len && (uintptr_t)at - a->at <= a->len - len) {
            return true;
        }
    }
    return len == 0;
}

static bool is_inside(const struct shim_win *w, const struct pli_region_block *b, int n, size_t gap)
{
    for (int i = 0; i < n; i++) {
        int64_t span, last;
        if (b[i].n == 0 || b[i].n > INT64_MAX ||
            __builtin_mul_overflow((int64_t)b[i].n - 1, b[i].step, &span) ||
            __builtin_add_overflow(b[i].at, span, &last)) {
            return false;
        }
        int64_t low = b[i].at < last ? b[i].at : last;
        uint64_t all = (uint64_t)(b[i].at < last ? last - b[i].at : b[i].at - last);
        if (!pli_shim_win_serve_has(w, low, all + b[i].len + gap)) {
            return false;
        }
    }
    return true;
}

static int answer(struct shim_win *w, int to, uint32_t tag, const void *data, size_t len)
{
    void *copy = malloc(len + 1);
    if (copy == NULL) {
        pli_shim_die("out of memory for an answer");
    }
    if (len > 0) {
        memcpy(copy, data, len);
    }
    return pli_shim_win_msg_send(w, to, tag, copy, len);
}

static int32_t take_fault(struct shim_win *w, int origin)
{
    bool is = w->peer[origin].is_refused;
    w->peer[origin].is_refused = false;
    return is ? PLI_REGION_REFUSED : 0;
}

static char *start_of(const struct shim_win *w)
{
    return w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? NULL : w->base;
}

static int native_op(int op, MPI_Op *out)
{
    const MPI_Op all[] = { MPI_OP_NULL, MPI_SUM,    MPI_PROD,  MPI_MIN,  MPI_MAX,
                           MPI_BAND,    MPI_BOR,    MPI_BXOR,  MPI_LAND, MPI_LOR,
                           MPI_LXOR,    MPI_MINLOC, MPI_MAXLOC };
    bool is_known = op > 0 && op < (int)(sizeof all / sizeof *all);
    *out = is_known ? all[op] : MPI_OP_NULL;
    return is_known;
}

// One run of elements, or one pair with a hole. Pairs lie closer in a message than in memory.
static void combine(const struct pli_region_msg *m, char *p, const char *in, size_t len)
{
    const struct pli_region_elem *e = &m->elem;
    bool is_split = e->first != e->size;
    char one[ELEM_MAX];
    MPI_Op op;
    if (m->op == PLI_COMBINE_REPLACE) {
        if (is_split) {
            pli_region_elem_scatter(e, p, in);
        } else {
            memcpy(p, in, len);
        }
        return;
    }
    MPI_Datatype type = pli_shim_layout_type(e);
    if (type == MPI_DATATYPE_NULL || !native_op(m->op, &op)) {
        return; // the origin knows better
    }
    if (e->index == 0) {
        (void)PMPI_Reduce_local((void *)(uintptr_t)in, p, (int)(len / e->size), type, op);
        return;
    }
    for (size_t k = 0; k < len; k += e->size) {
        memset(one, 0, sizeof one);
        if (is_split) {
            pli_region_elem_scatter(e, one, in + k);
        } else {
            memcpy(one, in + k, e->size);
        }
        (void)PMPI_Reduce_local(one, p + k, 1, type, op);
    }
}

// `in` and `out` may be NULL.
static void apply(const struct shim_win *w, const struct pli_region_msg *m,
                  const struct pli_region_block *blocks, const char *in, char *out)
{
    bool is_split = m->kind == PLI_REGION_MSG_APPLY && m->elem.first != m->elem.size;
    for (int i = 0; i < m->n_block; i++) {
        for (uint64_t k = 0; k < blocks[i].n; k++) {
            char *p = start_of(w) + blocks[i].at + (int64_t)k * blocks[i].step;
            size_t len = blocks[i].len;
            if (out != NULL && is_split) {
                pli_region_elem_gather(&m->elem, out, p);
            } else if (out != NULL) {
                memcpy(out, p, len);
            }
            if (m->kind == PLI_REGION_MSG_PUT) {
                memcpy(p, in, len);
            } else if (m->kind == PLI_REGION_MSG_SET) {
                memset(p, m->op, len);
            } else if (m->kind == PLI_REGION_MSG_APPLY && m->op != PLI_COMBINE_NO_OP) {
                combine(m, p, in, len);
            }
            in = in != NULL ? in + len : NULL;
            out = out != NULL ? out + len : NULL;
        }
    }
}

static void receive_data(struct shim_win *w, int origin, char *to, uint64_t len, uint32_t tag)
{
    if (pli_shim_win_msg_await(w, origin, tag, to, len, &w->recv) != MPI_SUCCESS) {
        pli_shim_die("the data of a put cannot be received");
    }
    w->is_data = true;
}

static void swap(const struct pli_region_msg *m, char *p, const char *data, char *out)
{
    memcpy(out, p, m->elem.size);
    if (memcmp(out, data, m->elem.size) == 0) {
        memcpy(p, data + m->elem.size, m->elem.size);
    }
}

static void move(struct shim_win *w, int origin, const struct pli_region_msg *m)
{
    const struct pli_region_block *blocks = (const struct pli_region_block *)(const void *)m->data;
    const char *data = (const char *)(blocks + m->n_block);
    char *out = NULL;
    if (m->kind == PLI_REGION_MSG_PUT_LARGE) {
        receive_data(w, origin, start_of(w) + blocks[0].at, m->bytes, m->tag);
        return;
    }
    if (m->tag != 0 && (out = malloc(m->bytes + 1)) == NULL) {
        pli_shim_die("out of memory for an answer");
    }
    if (m->kind == PLI_REGION_MSG_SWAP) {
        swap(m, start_of(w) + blocks[0].at, data, out);
    } else {
        apply(w, m, blocks, m->kind == PLI_REGION_MSG_GET ? NULL : data, out);
    }
    if (out != NULL) {
        (void)pli_shim_win_msg_send(w, origin, m->tag, out, m->bytes);
    }
}

// An access that is wrong changes nothing; the next answer says so.
static void refuse(struct shim_win *w, int origin, const struct pli_region_msg *m)
{
    static char nowhere;
    w->peer[origin].is_refused = true;
    if (m->kind == PLI_REGION_MSG_PUT_LARGE) {
        receive_data(w, origin, &nowhere, 0, m->tag);
    } else if (m->tag != 0) {
        (void)answer(w, origin, m->tag, NULL, 0);
    }
}

static void reply(struct shim_win *w, int to, uint32_t tag)
{
    struct pli_win_lock_reply r = { take_fault(w, to), 0, 0 };
    (void)answer(w, to, tag, &r, sizeof r);
}

// Those who have waited longest come first.
static void grant(struct shim_win *w)
{
    while (w->waiting != NULL && w->holder < 0 &&
           (w->waiting->hold == PLI_HOLD_SHARED || w->n_shared == 0)) {
        struct shim_win_waiter *h = w->waiting;
        w->waiting = h->next;
        w->n_shared += h->hold == PLI_HOLD_SHARED;
        w->holder = h->hold == PLI_HOLD_SHARED ? -1 : h->origin;
        reply(w, h->origin, h->tag);
        free(h);
    }
}

static void on_lock(struct shim_win *w, int origin, uint32_t tag, const struct pli_win_lock_msg *m)
{
    if (m->kind == PLI_WIN_UNLOCK) {
        w->n_shared -= m->hold == PLI_HOLD_SHARED;
        w->holder = m->hold == PLI_HOLD_SHARED ? w->holder : -1;
        reply(w, origin, tag);
    } else if (m->kind == PLI_WIN_LOCK) {
        struct shim_win_waiter **at = &w->waiting, *h = malloc(sizeof *h);
        if (h == NULL) {
            pli_shim_die("out of memory for a lock");
        }
        *h = (struct shim_win_waiter){ origin, m->hold, tag, NULL };
        while (*at != NULL) {
            at = &(*at)->next;
        }
        *at = h;
    }
    grant(w);
}

static void serve(struct shim_win *w, int origin, size_t len)
{
    const struct pli_region_msg *m = (const struct pli_region_msg *)(const void *)w->in;
    const struct pli_region_block *blocks = (const struct pli_region_block *)(const void *)m->data;
    size_t head = sizeof *m + (size_t)m->n_block * sizeof *blocks;
    struct pli_win_lock_msg lock = { 0 };
    int32_t fault;
    switch (m->kind) {
    case PLI_REGION_MSG_PUT:
    case PLI_REGION_MSG_PUT_LARGE:
    case PLI_REGION_MSG_GET:
    case PLI_REGION_MSG_SET:
    case PLI_REGION_MSG_APPLY:
    case PLI_REGION_MSG_SWAP:
        if (m->n_block > 0 && head <= len &&
            is_inside(w, blocks, m->n_block, (size_t)m->elem.second - m->elem.first)) {
            move(w, origin, m);
        } else {
            refuse(w, origin, m);
        }
        break;
    case PLI_REGION_MSG_FLUSH:
        fault = take_fault(w, origin);
        (void)answer(w, origin, m->tag, &fault, sizeof fault);
        break;
    case PLI_REGION_MSG_ASK:
        if (len >= sizeof *m + sizeof lock) {
            memcpy(&lock, m->data, sizeof lock);
        }
        on_lock(w, origin, m->tag, &lock);
        break;
    default: // a key of UCX, or what is not known here
        (void)answer(w, origin, m->tag, NULL, 0);
    }
}

static int listen(struct shim_win *w)
{
    return pli_shim_win_msg_await(w, MPI_ANY_SOURCE, PLI_REGION_TAG_ASK, w->in, ROOM, &w->recv);
}

int pli_shim_win_serve_open(struct shim_win *w)
{
    w->in = malloc(ROOM);
    return w->in == NULL ? MPI_ERR_NO_MEM : listen(w);
}

void pli_shim_win_serve_progress(struct shim_win *w)
{
    while (w->recv != NULL && pli_shim_req_test(w->recv)) {
        struct shim_req *r = w->recv;
        bool was_data = w->is_data;
        int len = 0, origin = r->status.MPI_SOURCE;
        (void)MPI_Get_count(&r->status, MPI_BYTE, &len);
        w->recv = NULL;
        w->is_data = false;
        if (!was_data && r->err == MPI_SUCCESS && (size_t)len >= sizeof(struct pli_region_msg)) {
            serve(w, origin, (size_t)len);
        }
        pli_shim_req_destroy(r);
        if (w->recv == NULL && listen(w) != MPI_SUCCESS) {
            pli_shim_die("no more accesses to a window can be served");
        }
    }
}
