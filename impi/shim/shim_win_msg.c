// SPDX-License-Identifier: BSD-3-Clause
// Messages between the members of a window.
#include "shim/shim_win.h"
#include <stdlib.h>
#include <string.h>

struct shim_part {
    struct shim_req *req; // NULL: native
    MPI_Request native;
    void *mem; // freed with it
    struct shim_access *op;
    size_t len; // of an answer
    struct shim_part *next;
};

static struct shim_part *keep(struct shim_win *w)
{
    struct shim_part *p = calloc(1, sizeof *p);
    if (p == NULL) {
        pli_shim_die("out of memory for a message");
    }
    p->native = MPI_REQUEST_NULL;
    p->next = w->parts;
    w->parts = p;
    w->n_part++;
    return p;
}

int pli_shim_win_msg_send(struct shim_win *w, int to, uint32_t tag, void *mem, size_t len)
{
    struct shim_span *s = w->span;
    if (s->native[to] >= 0) {
        struct shim_part *p = keep(w);
        p->mem = mem;
        int rc =
            PMPI_Isend(mem, (int)len, MPI_BYTE, s->native[to], (int)tag, s->handle, &p->native);
        p->native = rc == MPI_SUCCESS ? p->native : MPI_REQUEST_NULL;
        return rc;
    }
    struct shim_req *r = pli_shim_req_create(SHIM_SEND, s);
    if (r == NULL) {
        free(mem);
        return MPI_ERR_NO_MEM;
    }
    r->peer = to;
    r->tag = (int)tag;
    int rc = pli_shim_msg_send(r, mem, len);
    if (rc != MPI_SUCCESS) {
        pli_shim_req_destroy(r);
        return rc;
    }
    keep(w)->req = r;
    return MPI_SUCCESS;
}

int pli_shim_win_msg_await(struct shim_win *w, int from, uint32_t tag, void *buf, size_t len,
                           struct shim_req **out)
{
    struct shim_req *r = pli_shim_req_create(SHIM_RECV, w->span);
    if (r == NULL) {
        return MPI_ERR_NO_MEM;
    }
    r->buf = buf;
    r->count = (MPI_Count)len;
    r->type = MPI_BYTE;
    r->peer = from;
    r->tag = (int)tag;
    int rc = pli_shim_p2p_irecv(r);
    if (rc != MPI_SUCCESS) {
        pli_shim_req_destroy(r);
        return rc;
    }
    *out = r;
    return MPI_SUCCESS;
}

int pli_shim_win_msg_recv(struct shim_win *w, int from, uint32_t tag, void *buf, size_t len,
                          struct shim_access *op)
{
    struct shim_req *r;
    int rc = pli_shim_win_msg_await(w, from, tag, buf, len, &r);
    if (rc == MPI_SUCCESS) {
        struct shim_part *p = keep(w);
        p->req = r;
        p->op = op;
        p->len = len;
        op->n_left++;
    }
    return rc;
}

uint32_t pli_shim_win_msg_tag(struct shim_win *w)
{
    uint32_t half = ((uint32_t)pli_shim.tag_ub + 1) / 2; // the others are for data
    return w->next_tag++ % (half - PLI_REGION_TAG_FIRST) + PLI_REGION_TAG_FIRST;
}

struct pli_region_msg *pli_shim_win_msg_new(enum pli_region_kind kind,
                                            const struct pli_region_block *blocks, int n_block,
                                            size_t len)
{
    size_t head = (size_t)n_block * sizeof *blocks;
    struct pli_region_msg *m = malloc(sizeof *m + head + len);
    if (m != NULL) {
        *m = (struct pli_region_msg){ .kind = (uint8_t)kind, .n_block = (uint16_t)n_block };
        if (head > 0) {
            memcpy(m->data, blocks, head);
        }
    }
    return m;
}

int pli_shim_win_msg_begin(struct shim_win *w, int rank, bool has_request, struct shim_access **out)
{
    struct shim_access *op = calloc(1, sizeof *op);
    if (op != NULL && has_request) {
        op->user = pli_shim_req_create(SHIM_COLL, w->span);
    }
    if (op == NULL || (has_request && op->user == NULL)) {
        free(op);
        return MPI_ERR_NO_MEM;
    }
    if (has_request) {
        pli_shim_free_begin();
        op->user->is_active = true;
        pli_shim.n_pending++;
    }
    op->win = w;
    op->rank = rank;
    op->n_left = 1;
    pli_shim_free_begin(); // the datatype stays
    w->peer[rank].n_open++;
    *out = op;
    return MPI_SUCCESS;
}

static void end_part(struct shim_access *op, int err)
{
    struct shim_win_peer *p = &op->win->peer[op->rank];
    op->err = op->err != MPI_SUCCESS ? op->err : err;
    if (--op->n_left > 0) {
        return;
    }
    if (op->packed != NULL && op->err == MPI_SUCCESS) {
        pli_shim_layout_scatter(op->layout, op->packed, op->len, op->buf);
    }
    free(op->packed);
    pli_shim_free_end();
    p->n_open--;
    if (op->user != NULL) {
        pli_shim_req_done(op->user, op->err);
        if (op->user->is_free) {
            pli_shim_req_destroy(op->user);
        }
    } else if (op->err != MPI_SUCCESS) {
        p->fault = op->err;
    }
    free(op);
}

int pli_shim_win_msg_end(struct shim_access *op, int rc, MPI_Request *request)
{
    struct shim_req *user = op->user;
    if (user != NULL && rc == MPI_SUCCESS) {
        rc = pli_shim_req_show(user, request);
    }
    if (user != NULL && rc != MPI_SUCCESS) {
        user->is_free = true; // nobody asks for it
    }
    end_part(op, rc);
    return rc;
}

// Whether it is over, and if so its end.
static bool is_over(struct shim_part *p)
{
    int flag = 0, err = MPI_SUCCESS;
    if (p->req == NULL) {
        return p->native == MPI_REQUEST_NULL ||
               PMPI_Test(&p->native, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
    }
    if (!pli_shim_req_test(p->req)) {
        return false;
    }
    err = p->req->err;
    if (p->op != NULL && err == MPI_SUCCESS) {
        int len = 0;
        (void)MPI_Get_count(&p->req->status, MPI_BYTE, &len);
        if ((size_t)len < p->len) { // an owner that may not do what was asked answers with nothing
            err = pli_shim_fail(MPI_ERR_RMA_RANGE, "an access is outside of the target's memory");
        }
    }
    if (p->req->kind == SHIM_SEND) {
        (void)pli_shim_msg_unpost(p->req);
    }
    pli_shim_req_destroy(p->req);
    if (p->op != NULL) {
        end_part(p->op, err);
    }
    return true;
}

void pli_shim_win_msg_progress(struct shim_win *w)
{
    struct shim_part **at = &w->parts;
    while (*at != NULL) {
        struct shim_part *p = *at;
        if (!is_over(p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        w->n_part--;
        free(p->mem);
        free(p);
    }
}

void pli_shim_win_msg_throttle(struct shim_win *w, uint32_t most)
{
    struct shim_pace pace = { 0 };
    while (w->n_part > most) {
        pli_shim_req_progress(&pace);
        if (w->n_part > most) {
            pli_shim_link_pause(&pace, true);
        }
    }
}

int pli_shim_win_msg_ask(struct shim_win *w, int to, struct pli_region_msg *m, size_t len,
                         void *answer, size_t room, struct shim_req **out)
{
    if (m == NULL) {
        return MPI_ERR_NO_MEM;
    }
    m->tag = pli_shim_win_msg_tag(w);
    int rc = pli_shim_win_msg_await(w, to, m->tag, answer, room, out);
    if (rc != MPI_SUCCESS) {
        free(m);
        return rc;
    }
    return pli_shim_win_msg_send(w, to, PLI_REGION_TAG_ASK, m, sizeof *m + len);
}
