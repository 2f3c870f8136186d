// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put and MPI_Get: a copy where memory is near, messages where it is far.
#include "rma/rma_access.h"

#include "msg/p2p.h"
#include "obj/comm.h"
#include "rma/rma_layout.h"
#include "rma/rma_mail.h"
#include "rma/rma_target.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_OUT = 64 }; // messages on their way after which an access waits for room

static enum pli_err too_long(size_t from, size_t to)
{
    return pli_fail(PLI_ERR_TRUNC,
                    "%zu bytes do not fit into the %zu that the other side describes", from, to);
}

// A request that is over.
static enum pli_err nothing(struct pli_win *w, struct pli_request **out)
{
    return out == NULL ? PLI_OK : pli_p2p_nothing(w->comm, PLI_REQ_SEND | PLI_REQ_NO_STATUS, out);
}

// Whether the bytes are one run, and where it is.
static bool is_run(const struct pli_rma_target *t)
{
    return pli_datatype_is_run(t->type, t->count);
}

// A type that lives as long as the operation; predefined ones live for ever.
static void keep(struct pli_rma_op *op, struct pli_datatype *type)
{
    op->type = type->obj.value == 0 ? pli_datatype_retain(type) : NULL;
}

// The data goes on its own, from the user's memory to its place.
static enum pli_err put_large(struct pli_win *w, const struct pli_rma_target *t, size_t bytes,
                              const void *from, MPI_Count n, struct pli_datatype *type,
                              struct pli_request **out)
{
    struct pli_rma_op *op = pli_rma_mail_begin(w, t->rank, out != NULL);
    struct pli_rma_mail *m = NULL, *data = NULL;
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    keep(op, type);
    m = pli_rma_mail_new(w, PLI_RMA_TAKE, sizeof(struct pli_rma_block));
    data = pli_rma_mail_new(w, 0, 0);
    if (m == NULL || data == NULL) {
        free(m);
        free(data);
        return pli_rma_mail_end(op, PLI_ERR_NOMEM, out);
    }
    struct pli_rma_block b = { t->at + t->type->true_lb, bytes, 0, 1 };
    memcpy(m->msg.data, &b, sizeof b);
    m->msg.n_block = 1;
    m->msg.bytes = bytes;
    m->msg.tag = PLI_RMA_TAG_DATA + pli_rma_mail_tag(w);
    uint32_t tag = m->msg.tag;
    enum pli_err err = pli_rma_mail_send(m, t->rank, sizeof b);
    if (err == PLI_OK) {
        pli_rma_mail_add(op, data);
        err = pli_rma_mail_send_data(data, t->rank, tag, from, n, type);
    } else {
        free(data);
    }
    return pli_rma_mail_end(op, err, out);
}

static enum pli_err put_far(struct pli_win *w, const struct pli_rma_target *t, size_t bytes,
                            const void *from, MPI_Count n, struct pli_datatype *type,
                            struct pli_request **out)
{
    struct pli_rma_layout layout;
    struct pli_cursor data;
    enum pli_err err = PLI_OK;
    atomic_store_explicit(&t->peer->is_dirty, true, memory_order_relaxed);
    if (bytes >= PLI_RMA_LARGE && is_run(t)) {
        return put_large(w, t, bytes, from, n, type, out);
    }
    pli_rma_layout_init(&layout, t->at, t->count, t->type, NULL, bytes);
    pli_cursor_init(&data, from, n, type);
    while (err == PLI_OK) {
        struct pli_rma_block blocks[PLI_RMA_N_BLOCK];
        int n_block;
        size_t len = pli_rma_layout_next(&layout, blocks, PLI_RMA_N_BLOCK, PLI_RMA_ROOM, &n_block);
        if (len == 0) {
            break;
        }
        pli_rma_mail_room(w, MANY_OUT);
        size_t head = (size_t)n_block * sizeof *blocks;
        struct pli_rma_mail *m = pli_rma_mail_new(w, PLI_RMA_PUT, head + len);
        if (m == NULL) {
            return PLI_ERR_NOMEM;
        }
        m->msg.n_block = (uint16_t)n_block;
        m->msg.bytes = len;
        memcpy(m->msg.data, blocks, head);
        pli_cursor_pack(&data, m->msg.data + head, len);
        err = pli_rma_mail_send(m, t->rank, head + len);
    }
    return err == PLI_OK ? nothing(w, out) : err;
}

static enum pli_err put(const void *from, MPI_Count n, struct pli_datatype *type, int target,
                        MPI_Aint disp, MPI_Count n_to, struct pli_datatype *to_type,
                        struct pli_win *w, struct pli_request **out)
{
    struct pli_rma_target t;
    size_t bytes;
    enum pli_err err = pli_rma_target_find(w, target, disp, n_to, to_type, &t);
    if (__builtin_expect(err != PLI_OK, 0)) {
        return err;
    }
    if (t.peer == NULL) {
        return nothing(w, out);
    }
    if (!pli_datatype_bytes(type, n, &bytes) || bytes > t.bytes) {
        return too_long(bytes, t.bytes);
    }
    if (!t.peer->is_near) {
        return put_far(w, &t, bytes, from, n, type, out);
    }
    if (type->is_dense && to_type->is_dense) {
        memmove(pli_rma_target_here(&t) + to_type->true_lb, (const char *)from + type->true_lb,
                bytes);
    } else {
        pli_cursor_copy(from, n, type, pli_rma_target_here(&t), n_to, to_type);
    }
    return nothing(w, out);
}

// Ask for the bytes of some blocks, which go to `to` as (count, type) says.
static enum pli_err fetch(struct pli_rma_op *op, int rank, const struct pli_rma_block *blocks,
                          int n_block, size_t bytes, void *to, MPI_Count count,
                          struct pli_datatype *type)
{
    struct pli_win *w = op->win;
    size_t head = (size_t)n_block * sizeof *blocks;
    struct pli_rma_mail *m = pli_rma_mail_new(w, PLI_RMA_GET, head);
    struct pli_rma_mail *data = pli_rma_mail_new(w, 0, 0);
    if (m == NULL || data == NULL) {
        free(m);
        free(data);
        return PLI_ERR_NOMEM;
    }
    m->msg.n_block = (uint16_t)n_block;
    m->msg.bytes = bytes;
    m->msg.tag = pli_rma_mail_tag(w);
    memcpy(m->msg.data, blocks, head);
    pli_rma_mail_add(op, data);
    enum pli_err err = pli_rma_mail_take(data, rank, m->msg.tag, to, count, type);
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    return pli_rma_mail_send(m, rank, head);
}

static enum pli_err get_far(struct pli_win *w, const struct pli_rma_target *t, size_t bytes,
                            void *to, MPI_Count n, struct pli_datatype *type,
                            struct pli_request **out)
{
    struct pli_rma_op *op = pli_rma_mail_begin(w, t->rank, out != NULL);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    size_t room;
    pli_datatype_bytes(type, n, &room);
    if (bytes > PLI_RMA_COPY) {
        atomic_store_explicit(&w->peers[t->rank].is_reading, true, memory_order_relaxed);
    }
    if (is_run(t) && bytes == room) {
        struct pli_rma_block b = { t->at + t->type->true_lb, bytes, 0, 1 };
        keep(op, type);
        return pli_rma_mail_end(op, fetch(op, t->rank, &b, 1, bytes, to, n, type), out);
    }
    char *here = (char *)to + type->true_lb;
    if (!pli_datatype_is_run(type, n)) {
        op->packed = here = malloc(bytes);
        op->bytes = bytes;
        op->buf = to;
        op->count = n;
        op->type = pli_datatype_retain(type);
    }
    struct pli_rma_layout layout;
    enum pli_err err =
        here != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes", bytes);
    pli_rma_layout_init(&layout, t->at, t->count, t->type, NULL, bytes);
    for (size_t done = 0, len; err == PLI_OK; done += len) {
        struct pli_rma_block blocks[PLI_RMA_N_BLOCK];
        int n_block;
        len = pli_rma_layout_next(&layout, blocks, PLI_RMA_N_BLOCK, PLI_RMA_ROOM, &n_block);
        if (len == 0) {
            break;
        }
        pli_rma_mail_room(w, MANY_OUT);
        err = fetch(op, t->rank, blocks, n_block, len, here + done, (MPI_Count)len,
                    pli_datatype_basic(MPI_BYTE));
    }
    return pli_rma_mail_end(op, err, out);
}

static enum pli_err get(void *to, MPI_Count n, struct pli_datatype *type, int target, MPI_Aint disp,
                        MPI_Count n_from, struct pli_datatype *from_type, struct pli_win *w,
                        struct pli_request **out)
{
    struct pli_rma_target t;
    size_t room;
    enum pli_err err = pli_rma_target_find(w, target, disp, n_from, from_type, &t);
    if (__builtin_expect(err != PLI_OK, 0)) {
        return err;
    }
    if (t.peer == NULL) {
        return nothing(w, out);
    }
    if (!pli_datatype_bytes(type, n, &room) || room < t.bytes) {
        return too_long(t.bytes, room);
    }
    if (!t.peer->is_near) {
        return t.bytes == 0 ? nothing(w, out) : get_far(w, &t, t.bytes, to, n, type, out);
    }
    if (type->is_dense && from_type->is_dense) {
        memmove((char *)to + type->true_lb, pli_rma_target_here(&t) + from_type->true_lb, t.bytes);
    } else {
        pli_cursor_copy(pli_rma_target_here(&t), n_from, from_type, to, n, type);
    }
    return nothing(w, out);
}

enum pli_err pli_rma_access_put(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                int target, MPI_Aint disp, MPI_Count n_to,
                                struct pli_datatype *to_type, struct pli_win *w)
{
    return put(from, n_from, from_type, target, disp, n_to, to_type, w, NULL);
}

enum pli_err pli_rma_access_rput(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                 int target, MPI_Aint disp, MPI_Count n_to,
                                 struct pli_datatype *to_type, struct pli_win *w,
                                 struct pli_request **out)
{
    return put(from, n_from, from_type, target, disp, n_to, to_type, w, out);
}

enum pli_err pli_rma_access_get(void *to, MPI_Count n_to, struct pli_datatype *to_type, int target,
                                MPI_Aint disp, MPI_Count n_from, struct pli_datatype *from_type,
                                struct pli_win *w)
{
    return get(to, n_to, to_type, target, disp, n_from, from_type, w, NULL);
}

enum pli_err pli_rma_access_rget(void *to, MPI_Count n_to, struct pli_datatype *to_type, int target,
                                 MPI_Aint disp, MPI_Count n_from, struct pli_datatype *from_type,
                                 struct pli_win *w, struct pli_request **out)
{
    return get(to, n_to, to_type, target, disp, n_from, from_type, w, out);
}
