// SPDX-License-Identifier: BSD-3-Clause
// Accesses far members with datatypes on both sides.
// An access whose two sides are one run each goes by UCX where that reaches the member. All others
// are messages of blocks and packed data, or one message for data that is long and in one run.
#include "onesided/region_datatype.h"

#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "onesided/region_layout.h"
#include "onesided/region_msg.h"
#include "onesided/region_priv.h"
#include "onesided/region_ucx.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_OUT = 64 }; // messages on their way after which an access waits for room

enum pli_err pli_region_datatype_nothing(struct pli_region *r, struct pli_request **out)
{
    return out == NULL ? PLI_OK : pli_p2p_nothing(r->comm, PLI_REQ_SEND | PLI_REQ_NO_STATUS, out);
}

static bool is_run(const struct pli_region_place *p)
{
    return pli_datatype_is_run(p->type, p->count);
}

// A run of the first bytes at a place.
static struct pli_region_block run_of(const struct pli_region_place *p, size_t bytes)
{
    return (struct pli_region_block){ p->at + p->type->true_lb, bytes, 0, 1 };
}

// A type that lives as long as the operation; predefined ones live for ever.
static void keep(struct pli_region_access *op, struct pli_datatype *type)
{
    op->type = type->obj.value == 0 ? pli_datatype_retain(type) : NULL;
}

// Whether UCX can do it: both sides are one run, and there is a key for the far one.
static bool is_for_ucx(struct pli_region *r, const struct pli_region_place *p, size_t bytes,
                       const struct pli_region_side *s)
{
    return r->has_ucx && bytes > 0 && is_run(p) && pli_datatype_is_run(s->type, s->count) &&
           pli_region_ucx_has(r, p->member, (uint64_t)(p->at + p->type->true_lb), bytes);
}

static enum pli_err move_by_ucx(struct pli_region *r, const struct pli_region_place *p,
                                size_t bytes, const struct pli_region_side *s, bool is_put,
                                struct pli_request **out)
{
    struct pli_region_access *op = pli_region_msg_begin(r, p->member, out != NULL);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_region_msg_throttle(r, MANY_OUT);
    enum pli_err err = pli_region_ucx_move(op, p->member, (uint64_t)(p->at + p->type->true_lb),
                                           (char *)s->buf + s->type->true_lb, bytes, is_put);
    return pli_region_msg_end(op, err, out);
}

// The data goes on its own, from the caller's memory to its place.
static enum pli_err put_large(struct pli_region *r, const struct pli_region_place *to, size_t bytes,
                              const struct pli_region_side *from, struct pli_request **out)
{
    struct pli_region_access *op = pli_region_msg_begin(r, to->member, out != NULL);
    struct pli_region_part *m = NULL, *data = NULL;
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    keep(op, from->type);
    m = pli_region_msg_new(r, PLI_REGION_MSG_PUT_LARGE, sizeof(struct pli_region_block));
    data = pli_region_msg_new(r, 0, 0);
    if (m == NULL || data == NULL) {
        free(m);
        free(data);
        return pli_region_msg_end(op, PLI_ERR_NOMEM, out);
    }
    struct pli_region_block b = run_of(to, bytes);
    pli_region_msg_blocks(m, &b, 1);
    m->msg.bytes = bytes;
    m->msg.tag = r->data_tag + pli_region_msg_tag(r);
    uint32_t tag = m->msg.tag;
    enum pli_err err = pli_region_msg_send(m, to->member, sizeof b);
    if (err == PLI_OK) {
        pli_region_msg_add(op, data);
        err = r->comm->is_span ? pli_region_msg_send_data(data, to->member, tag,
                                                          (char *)from->buf + from->type->true_lb,
                                                          (MPI_Count)bytes, pli_region_msg_byte())
                               : pli_region_msg_send_data(data, to->member, tag, from->buf,
                                                          from->count, from->type);
    } else {
        free(data);
    }
    return pli_region_msg_end(op, err, out);
}

static enum pli_err put_piece(struct pli_region *r, int to, const struct pli_region_block *blocks,
                              int n, size_t bytes, struct pli_cursor *data)
{
    pli_region_msg_throttle(r, MANY_OUT);
    size_t head = (size_t)n * sizeof *blocks;
    struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_PUT, head + bytes);
    if (m == NULL) {
        return PLI_ERR_NOMEM;
    }
    m->msg.bytes = bytes;
    pli_region_msg_blocks(m, blocks, n);
    pli_cursor_pack(data, m->msg.data + head, bytes);
    return pli_region_msg_send(m, to, head + bytes);
}

enum pli_err pli_region_datatype_put(struct pli_region *r, const struct pli_region_place *to,
                                     size_t bytes, const struct pli_region_side *from,
                                     struct pli_request **out)
{
    return is_for_ucx(r, to, bytes, from) ? move_by_ucx(r, to, bytes, from, true, out)
                                          : pli_region_datatype_put_msg(r, to, bytes, from, out);
}

enum pli_err pli_region_datatype_put_msg(struct pli_region *r, const struct pli_region_place *to,
                                         size_t bytes, const struct pli_region_side *from,
                                         struct pli_request **out)
{
    struct pli_cursor data;
    enum pli_err err = PLI_OK;
    // Between MPI jobs elements are converted on their way, and bytes are not.
    bool is_large = bytes >= PLI_REGION_LARGE && is_run(to);
    if (is_large && (!r->comm->is_span || pli_datatype_is_run(from->type, from->count))) {
        return put_large(r, to, bytes, from, out);
    }
    pli_cursor_init(&data, from->buf, from->count, from->type);
    if (is_run(to) && !is_large) {
        struct pli_region_block b = run_of(to, bytes);
        err = bytes > 0 ? put_piece(r, to->member, &b, 1, bytes, &data) : PLI_OK;
        return err == PLI_OK ? pli_region_datatype_nothing(r, out) : err;
    }
    struct pli_region_layout layout;
    pli_region_layout_init(&layout, to->at, to->count, to->type, NULL, bytes);
    while (err == PLI_OK) {
        struct pli_region_block blocks[PLI_REGION_N_BLOCK];
        int n;
        size_t len =
            pli_region_layout_next(&layout, blocks, PLI_REGION_N_BLOCK, PLI_REGION_ROOM, &n);
        if (len == 0) {
            break;
        }
        err = put_piece(r, to->member, blocks, n, len, &data);
    }
    return err == PLI_OK ? pli_region_datatype_nothing(r, out) : err;
}

// Ask for the bytes of some blocks, which go to `to` as (count, type) says.
static enum pli_err fetch(struct pli_region_access *op, int member,
                          const struct pli_region_block *blocks, int n_block, size_t bytes,
                          void *to, MPI_Count count, struct pli_datatype *type)
{
    struct pli_region *r = op->region;
    size_t head = (size_t)n_block * sizeof *blocks;
    struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_GET, head);
    struct pli_region_part *data = pli_region_msg_new(r, 0, 0);
    if (m == NULL || data == NULL) {
        free(m);
        free(data);
        return PLI_ERR_NOMEM;
    }
    m->msg.bytes = bytes;
    m->msg.tag = pli_region_msg_tag(r);
    pli_region_msg_blocks(m, blocks, n_block);
    pli_region_msg_add(op, data);
    enum pli_err err = pli_region_msg_receive(data, member, m->msg.tag, to, count, type);
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    return pli_region_msg_send(m, member, head);
}

static enum pli_err fetch_all(struct pli_region_access *op, const struct pli_region_place *from,
                              size_t bytes, char *here)
{
    struct pli_region_layout layout;
    enum pli_err err =
        here != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes", bytes);
    pli_region_layout_init(&layout, from->at, from->count, from->type, NULL, bytes);
    for (size_t done = 0, len; err == PLI_OK; done += len) {
        struct pli_region_block blocks[PLI_REGION_N_BLOCK];
        int n_block;
        len =
            pli_region_layout_next(&layout, blocks, PLI_REGION_N_BLOCK, PLI_REGION_ROOM, &n_block);
        if (len == 0) {
            break;
        }
        pli_region_msg_throttle(op->region, MANY_OUT);
        err = fetch(op, from->member, blocks, n_block, len, here + done, (MPI_Count)len,
                    pli_region_msg_byte());
    }
    return err;
}

enum pli_err pli_region_datatype_get(struct pli_region *r, const struct pli_region_place *from,
                                     size_t bytes, const struct pli_region_side *to,
                                     struct pli_request **out)
{
    if (is_for_ucx(r, from, bytes, to)) {
        return move_by_ucx(r, from, bytes, to, false, out);
    }
    struct pli_region_access *op = pli_region_msg_begin(r, from->member, out != NULL);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    size_t room;
    pli_datatype_bytes(to->type, to->count, &room);
    if (bytes > PLI_REGION_COPY) {
        atomic_store_explicit(&r->members[from->member].is_reading, true, memory_order_relaxed);
    }
    if (is_run(from) && bytes == room && !r->comm->is_span) {
        struct pli_region_block b = run_of(from, bytes);
        keep(op, to->type);
        return pli_region_msg_end(
            op, fetch(op, from->member, &b, 1, bytes, to->buf, to->count, to->type), out);
    }
    char *here = (char *)to->buf + to->type->true_lb;
    if (!pli_datatype_is_run(to->type, to->count)) {
        op->packed = here = malloc(bytes);
        op->bytes = bytes;
        op->buf = to->buf;
        op->count = to->count;
        op->type = pli_datatype_retain(to->type);
    }
    return pli_region_msg_end(op, fetch_all(op, from, bytes, here), out);
}

bool pli_region_datatype_is_quiet(const struct pli_region *r, int member)
{
    const struct pli_region_member *m = &r->members[member];
    return !pli_region_is_dirty(m) && atomic_load_explicit(&m->n_open, memory_order_acquire) == 0;
}

enum pli_err pli_region_datatype_flatten(const struct pli_region_side *s, size_t bytes, bool is_in,
                                         char **out, char **copy_out)
{
    *copy_out = NULL;
    if (s->type == NULL) {
        *out = NULL;
        return PLI_OK;
    }
    if (pli_datatype_is_run(s->type, s->count)) {
        *out = (char *)s->buf + s->type->true_lb;
        return PLI_OK;
    }
    *out = *copy_out = malloc(bytes);
    if (*out == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes", bytes);
    }
    if (is_in) {
        struct pli_cursor c;
        pli_cursor_init(&c, s->buf, s->count, s->type);
        pli_cursor_pack(&c, *out, bytes);
    }
    return PLI_OK;
}

// One message, and its answer where the operation wants one, which goes to `out`.
static enum pli_err send_piece(struct pli_region_part *m, int member, struct pli_region_access *op,
                               size_t len, char *out)
{
    struct pli_region *r = m->region;
    enum pli_err err = PLI_OK;
    if (op != NULL) {
        struct pli_region_part *data = pli_region_msg_new(r, 0, 0);
        if (data == NULL) {
            free(m);
            return PLI_ERR_NOMEM;
        }
        m->msg.tag = pli_region_msg_tag(r);
        pli_region_msg_add(op, data);
        err = pli_region_msg_receive(data, member, m->msg.tag, out, (MPI_Count)m->msg.bytes,
                                     pli_region_msg_byte());
    }
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    return pli_region_msg_send(m, member, len);
}

// Pieces of whole elements.
static enum pli_err send_pieces(struct pli_region *r, const struct pli_region_place *to,
                                const struct pli_region_update *u, struct pli_region_access *op,
                                char *out)
{
    struct pli_region_layout layout;
    struct pli_cursor data;
    enum pli_err err = PLI_OK;
    bool has_data = u->from.type != NULL;
    pli_region_layout_init(&layout, to->at, to->count, to->type, &u->elem, u->bytes);
    if (has_data) {
        pli_cursor_init(&data, u->from.buf, u->from.count, u->from.type);
    }
    while (err == PLI_OK) {
        struct pli_region_block blocks[PLI_REGION_N_BLOCK];
        int n_block;
        size_t bytes =
            pli_region_layout_next(&layout, blocks, PLI_REGION_N_BLOCK, PLI_REGION_ROOM, &n_block);
        if (bytes == 0) {
            break;
        }
        pli_region_msg_throttle(r, MANY_OUT);
        size_t head = (size_t)n_block * sizeof *blocks, len = head + (has_data ? bytes : 0);
        struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_APPLY, len);
        if (m == NULL) {
            return PLI_ERR_NOMEM;
        }
        m->msg.op = (uint8_t)u->op;
        m->msg.elem = u->elem;
        m->msg.bytes = bytes;
        pli_region_msg_blocks(m, blocks, n_block);
        if (has_data) {
            pli_cursor_pack(&data, m->msg.data + head, bytes);
        }
        err = send_piece(m, to->member, op, len, out);
        out = out != NULL ? out + bytes : NULL;
    }
    return err;
}

enum pli_err pli_region_datatype_update(struct pli_region *r, const struct pli_region_place *to,
                                        const struct pli_region_update *u, struct pli_request **out)
{
    const struct pli_region_side *result = &u->result;
    if (result->type == NULL) {
        enum pli_err err = send_pieces(r, to, u, NULL, NULL);
        return err == PLI_OK ? pli_region_datatype_nothing(r, out) : err;
    }
    struct pli_region_access *op = pli_region_msg_begin(r, to->member, out != NULL);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    char *here;
    enum pli_err err = pli_region_datatype_flatten(result, u->bytes, false, &here, &op->packed);
    if (op->packed != NULL) {
        op->bytes = u->bytes;
        op->buf = result->buf;
        op->count = result->count;
        op->type = pli_datatype_retain(result->type);
    }
    return pli_region_msg_end(op, err == PLI_OK ? send_pieces(r, to, u, op, here) : err, out);
}

enum pli_err pli_region_datatype_swap(struct pli_region *r, const struct pli_region_place *to,
                                      const struct pli_region_elem *elem, const void *compare,
                                      const void *from, void *result)
{
    size_t size = elem->size;
    struct pli_region_block b = { to->at, size, 0, 1 };
    struct pli_region_access *op = pli_region_msg_begin(r, to->member, false);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_SWAP, sizeof b + 2 * size);
    if (m == NULL) {
        return pli_region_msg_end(op, PLI_ERR_NOMEM, NULL);
    }
    m->msg.elem = *elem;
    m->msg.bytes = size;
    pli_region_msg_blocks(m, &b, 1);
    memcpy(m->msg.data + sizeof b, compare, size);
    memcpy(m->msg.data + sizeof b + size, from, size);
    return pli_region_msg_end(op, send_piece(m, to->member, op, sizeof b + 2 * size, result), NULL);
}
