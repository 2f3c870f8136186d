// SPDX-License-Identifier: BSD-3-Clause
// Accumulations. Near or far, data is packed, and applied to the blocks that the target's type
// describes; far ones go in pieces of whole elements.
#include "rma/rma_update.h"

#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/datatype_number.h"
#include "obj/op.h"
#include "rma/rma_apply.h"
#include "rma/rma_layout.h"
#include "rma/rma_mail.h"
#include "rma/rma_target.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_OUT = 64, NEAR_BLOCKS = 64 };

// One side of an accumulation.
struct side {
    void *buf;
    MPI_Count count;
    struct pli_datatype *type; // NULL: there is none
};

struct update {
    struct pli_win *win;
    struct side from, result;
    struct pli_op *op;
    struct pli_rma_target t;
    struct pli_rma_elem elem;
};

static enum pli_err nothing(struct pli_win *w, struct pli_request **out)
{
    return out == NULL ? PLI_OK : pli_p2p_nothing(w->comm, PLI_REQ_SEND | PLI_REQ_NO_STATUS, out);
}

// The sides must have the elements that the target has, and as many.
static enum pli_err check_side(const struct side *s, const struct pli_rma_target *t,
                               const char *what)
{
    size_t bytes;
    if (!pli_datatype_bytes(s->type, s->count, &bytes) || bytes != t->bytes) {
        return pli_fail(PLI_ERR_ARG, "the %s describes %zu bytes, and the target %zu", what, bytes,
                        t->bytes);
    }
    if (bytes > 0 && (s->type->elem == NULL || s->type->elem->number != t->type->elem->number ||
                      s->type->elem->index != t->type->elem->index)) {
        return pli_fail(PLI_ERR_TYPE,
                        "%s of the %s and %s of the target are not made of the same predefined "
                        "type",
                        pli_datatype_label(s->type), what, pli_datatype_label(t->type));
    }
    return PLI_OK;
}

// The stream of a side as bytes in a row: its own memory, or a copy that the caller frees.
static enum pli_err flatten(const struct side *s, size_t bytes, bool is_in, char **out,
                            char **copy_out)
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

// `in` goes to the target's blocks, and what was there to `out`.
static void apply_near(const struct update *u, char *in, char *out)
{
    struct pli_rma_block blocks[NEAR_BLOCKS];
    struct pli_rma_change c = { u->t.peer->base, blocks, 1, u->elem, u->op->which };
    struct pli_rma_layout layout;
    size_t len;
    if (pli_datatype_is_run(u->t.type, u->t.count) && !pli_rma_layout_is_split(&u->elem)) {
        blocks[0] = (struct pli_rma_block){ u->t.at + u->t.type->true_lb, u->t.bytes, 0, 1 };
        pli_rma_apply_op(&c, u->t.peer->guard, in, out);
        return;
    }
    pli_rma_layout_init(&layout, u->t.at, u->t.count, u->t.type, &u->elem, u->t.bytes);
    while ((len = pli_rma_layout_next(&layout, blocks, NEAR_BLOCKS, SIZE_MAX, &c.n_block)) > 0) {
        pli_rma_apply_op(&c, u->t.peer->guard, in, out);
        in = in != NULL ? in + len : NULL;
        out = out != NULL ? out + len : NULL;
    }
}

static enum pli_err update_near(struct update *u)
{
    char *in, *in_copy = NULL, *out, *out_copy = NULL;
    enum pli_err err = flatten(&u->from, u->t.bytes, true, &in, &in_copy);
    if (err == PLI_OK) {
        err = flatten(&u->result, u->t.bytes, false, &out, &out_copy);
    }
    if (err == PLI_OK) {
        apply_near(u, in, out);
    }
    if (err == PLI_OK && out_copy != NULL) {
        struct pli_cursor to;
        pli_cursor_init(&to, u->result.buf, u->result.count, u->result.type);
        pli_cursor_unpack(&to, out_copy, u->t.bytes);
    }
    free(in_copy);
    free(out_copy);
    return err;
}

// One message, and its answer where one is wanted, which goes to `out`.
static enum pli_err send_piece(struct update *u, struct pli_rma_op *op, struct pli_rma_mail *m,
                               size_t len, size_t bytes, char *out)
{
    struct pli_win *w = u->win;
    int rank = u->t.rank;
    enum pli_err err = PLI_OK;
    m->msg.op = u->op != NULL ? u->op->which : 0;
    m->msg.elem = u->elem;
    m->msg.bytes = bytes;
    if (op != NULL) {
        struct pli_rma_mail *data = pli_rma_mail_new(w, 0, 0);
        if (data == NULL) {
            free(m);
            return PLI_ERR_NOMEM;
        }
        m->msg.tag = pli_rma_mail_tag(w);
        pli_rma_mail_add(op, data);
        err = pli_rma_mail_take(data, rank, m->msg.tag, out, (MPI_Count)bytes,
                                pli_datatype_basic(MPI_BYTE));
    }
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    return pli_rma_mail_send(m, rank, len);
}

static enum pli_err send_pieces(struct update *u, struct pli_rma_op *op, char *out)
{
    struct pli_rma_layout layout;
    struct pli_cursor data;
    enum pli_err err = PLI_OK;
    bool has_data = u->from.type != NULL;
    pli_rma_layout_init(&layout, u->t.at, u->t.count, u->t.type, &u->elem, u->t.bytes);
    if (has_data) {
        pli_cursor_init(&data, u->from.buf, u->from.count, u->from.type);
    }
    while (err == PLI_OK) {
        struct pli_rma_block blocks[PLI_RMA_N_BLOCK];
        int n_block;
        size_t bytes =
            pli_rma_layout_next(&layout, blocks, PLI_RMA_N_BLOCK, PLI_RMA_ROOM, &n_block);
        if (bytes == 0) {
            break;
        }
        pli_rma_mail_room(u->win, MANY_OUT);
        size_t head = (size_t)n_block * sizeof *blocks, len = head + (has_data ? bytes : 0);
        struct pli_rma_mail *m = pli_rma_mail_new(u->win, PLI_RMA_APPLY, len);
        if (m == NULL) {
            return PLI_ERR_NOMEM;
        }
        m->msg.n_block = (uint16_t)n_block;
        memcpy(m->msg.data, blocks, head);
        if (has_data) {
            pli_cursor_pack(&data, m->msg.data + head, bytes);
        }
        err = send_piece(u, op, m, len, bytes, out);
        out = out != NULL ? out + bytes : NULL;
    }
    return err;
}

static enum pli_err update_far(struct update *u, struct pli_request **out)
{
    const struct side *r = &u->result;
    atomic_store_explicit(&u->t.peer->is_dirty, true, memory_order_relaxed);
    if (r->type == NULL) {
        enum pli_err err = send_pieces(u, NULL, NULL);
        return err == PLI_OK ? nothing(u->win, out) : err;
    }
    struct pli_rma_op *op = pli_rma_mail_begin(u->win, u->t.rank, out != NULL);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    char *here;
    enum pli_err err = flatten(r, u->t.bytes, false, &here, &op->packed);
    if (op->packed != NULL) {
        op->bytes = u->t.bytes;
        op->buf = r->buf;
        op->count = r->count;
        op->type = pli_datatype_retain(r->type);
    }
    return pli_rma_mail_end(op, err == PLI_OK ? send_pieces(u, op, here) : err, out);
}

static enum pli_err update(struct update *u, int target, MPI_Aint disp, MPI_Count n_to,
                           struct pli_datatype *to_type, struct pli_request **out)
{
    enum pli_err err = pli_rma_target_find(u->win, target, disp, n_to, to_type, &u->t);
    if (err != PLI_OK || u->t.peer == NULL) {
        return err != PLI_OK ? err : nothing(u->win, out);
    }
    err = n_to == 0 ? PLI_OK : pli_op_check_accumulate(u->op, to_type);
    if (u->op->which == PLI_OP_NO_OP) {
        u->from.type = NULL; // is not looked at
    } else if (u->from.type == NULL) {
        return pli_fail(PLI_ERR_TYPE, "argument origin_datatype is not a committed datatype, which "
                                      "only MPI_NO_OP does without");
    }
    if (err == PLI_OK && u->from.type != NULL) {
        err = check_side(&u->from, &u->t, "origin");
    }
    if (err == PLI_OK && u->result.type != NULL) {
        err = check_side(&u->result, &u->t, "result");
    }
    if (err != PLI_OK || u->t.bytes == 0) {
        return err != PLI_OK ? err : nothing(u->win, out);
    }
    u->elem = pli_rma_layout_elem(to_type->elem);
    if (!u->t.peer->is_near) {
        return update_far(u, out);
    }
    err = update_near(u);
    return err == PLI_OK ? nothing(u->win, out) : err;
}

enum pli_err pli_rma_update(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                            int target, MPI_Aint disp, MPI_Count n_to, struct pli_datatype *to_type,
                            struct pli_op *op, struct pli_win *w)
{
    struct update u = { .win = w, .from = { (void *)from, n_from, from_type }, .op = op };
    return update(&u, target, disp, n_to, to_type, NULL);
}

enum pli_err pli_rma_update_request(const void *from, MPI_Count n_from,
                                    struct pli_datatype *from_type, int target, MPI_Aint disp,
                                    MPI_Count n_to, struct pli_datatype *to_type, struct pli_op *op,
                                    struct pli_win *w, struct pli_request **out)
{
    struct update u = { .win = w, .from = { (void *)from, n_from, from_type }, .op = op };
    return update(&u, target, disp, n_to, to_type, out);
}

enum pli_err pli_rma_update_get(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                void *result, MPI_Count n_result, struct pli_datatype *result_type,
                                int target, MPI_Aint disp, MPI_Count n_to,
                                struct pli_datatype *to_type, struct pli_op *op, struct pli_win *w)
{
    return pli_rma_update_get_request(from, n_from, from_type, result, n_result, result_type,
                                      target, disp, n_to, to_type, op, w, NULL);
}

enum pli_err pli_rma_update_get_request(const void *from, MPI_Count n_from,
                                        struct pli_datatype *from_type, void *result,
                                        MPI_Count n_result, struct pli_datatype *result_type,
                                        int target, MPI_Aint disp, MPI_Count n_to,
                                        struct pli_datatype *to_type, struct pli_op *op,
                                        struct pli_win *w, struct pli_request **out)
{
    struct update u = { .win = w,
                        .from = { (void *)from, n_from, from_type },
                        .result = { result, n_result, result_type },
                        .op = op };
    return update(&u, target, disp, n_to, to_type, out);
}

enum pli_err pli_rma_update_fetch(const void *from, void *result, struct pli_datatype *type,
                                  int target, MPI_Aint disp, struct pli_op *op, struct pli_win *w)
{
    if (type->elem != type) {
        return pli_fail(PLI_ERR_TYPE, "%s is not a predefined type", pli_datatype_label(type));
    }
    return pli_rma_update_get(from, 1, type, result, 1, type, target, disp, 1, type, op, w);
}

static enum pli_err swap_far(struct update *u, const void *compare)
{
    size_t size = u->elem.size;
    struct pli_rma_block b = { u->t.at, size, 0, 1 };
    struct pli_rma_op *op = pli_rma_mail_begin(u->win, u->t.rank, false);
    if (op == NULL) {
        return PLI_ERR_NOMEM;
    }
    struct pli_rma_mail *m = pli_rma_mail_new(u->win, PLI_RMA_SWAP, sizeof b + 2 * size);
    if (m == NULL) {
        return pli_rma_mail_end(op, PLI_ERR_NOMEM, NULL);
    }
    m->msg.n_block = 1;
    memcpy(m->msg.data, &b, sizeof b);
    memcpy(m->msg.data + sizeof b, compare, size);
    memcpy(m->msg.data + sizeof b + size, u->from.buf, size);
    atomic_store_explicit(&u->t.peer->is_dirty, true, memory_order_relaxed);
    return pli_rma_mail_end(op, send_piece(u, op, m, sizeof b + 2 * size, size, u->result.buf),
                            NULL);
}

enum pli_err pli_rma_update_swap(const void *from, const void *compare, void *result,
                                 struct pli_datatype *type, int target, MPI_Aint disp,
                                 struct pli_win *w)
{
    struct update u = { .win = w,
                        .from = { (void *)from, 1, type },
                        .result = { result, 1, type } };
    enum pli_err err = pli_rma_target_find(w, target, disp, 1, type, &u.t);
    if (err != PLI_OK || u.t.peer == NULL) {
        return err;
    }
    bool is_whole =
        type->elem == type && type->number >= PLI_NUM_I8 && type->number <= PLI_NUM_U128;
    if (!is_whole || type->index != 0) {
        return pli_fail(PLI_ERR_TYPE,
                        "%s cannot be compared and swapped; types of integers, logicals and bytes "
                        "can",
                        pli_datatype_label(type));
    }
    u.elem = pli_rma_layout_elem(type);
    if (!u.t.peer->is_near) {
        return swap_far(&u, compare);
    }
    pli_rma_apply_swap(&u.elem, u.t.peer->guard, pli_rma_target_here(&u.t), compare, from, result);
    return PLI_OK;
}
