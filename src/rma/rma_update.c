// SPDX-License-Identifier: BSD-3-Clause
// Accumulations: of near memory here, under its guard; of far memory by the kernel, under the same,
// or by the region.
#include "rma/rma_update.h"

#include "msg/statistics_hooks.h"
#include "obj/cursor.h"
#include "obj/datatype_number.h"
#include "obj/op.h"
#include "obj/op_kernel.h"
#include "onesided/region_apply.h"
#include "onesided/region_layout.h"
#include "onesided/region_datatype.h"
#include "rma/rma_cma.h"
#include "rma/rma_near.h"
#include "rma/rma_target.h"
#include "rma/win_flush.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR_BLOCKS = 64,
    KERNEL_WORTH = 1024, // below it a message is faster than two calls of the system
};

struct update {
    struct pli_win *win;
    struct pli_region_side from, result;
    struct pli_op *op;
    struct pli_rma_target t;
    struct pli_region_elem elem;
};

// The sides must have the elements that the target has, and as many.
static enum pli_err check_side(const struct pli_region_side *s, const struct pli_rma_target *t,
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

// `in` goes to the target's blocks, and what was there to `out`.
static void apply_near(const struct update *u, char *in, char *out)
{
    struct pli_region_block blocks[NEAR_BLOCKS];
    struct pli_region_change c = { u->t.peer->base, blocks, 1, u->elem, u->op->which };
    struct pli_region_layout layout;
    size_t len;
    if (pli_datatype_is_run(u->t.type, u->t.count) && !pli_region_layout_is_split(&u->elem)) {
        blocks[0] = (struct pli_region_block){ u->t.at + u->t.type->true_lb, u->t.bytes, 0, 1 };
        pli_region_apply_op(&c, u->t.peer->guard, in, out);
        return;
    }
    pli_region_layout_init(&layout, u->t.at, u->t.count, u->t.type, &u->elem, u->t.bytes);
    while ((len = pli_region_layout_next(&layout, blocks, NEAR_BLOCKS, SIZE_MAX, &c.n_block)) > 0) {
        pli_region_apply_op(&c, u->t.peer->guard, in, out);
        in = in != NULL ? in + len : NULL;
        out = out != NULL ? out + len : NULL;
    }
}

static enum pli_err update_near(struct update *u)
{
    char *in, *in_copy = NULL, *out, *out_copy = NULL;
    enum pli_err err = pli_region_datatype_flatten(&u->from, u->t.bytes, true, &in, &in_copy);
    if (err == PLI_OK) {
        err = pli_region_datatype_flatten(&u->result, u->t.bytes, false, &out, &out_copy);
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

static struct pli_region_place place_of(const struct update *u)
{
    return (struct pli_region_place){ u->t.rank, u->t.at, u->t.count, u->t.type };
}

static bool is_run_or_none(const struct pli_region_side *s)
{
    return s->type == NULL || pli_datatype_is_run(s->type, s->count);
}

// Whether the kernel has done it; nothing was done where it has not. Accumulations of one origin
// have an order: behind one that is under way it does not go. One that brings nothing back is
// faster by a message, whose data crosses once.
static bool update_by_kernel(const struct update *u, enum pli_err *err)
{
    const struct pli_rma_target *t = &u->t;
    bool is_combined = u->op->which != PLI_OP_REPLACE && u->op->which != PLI_OP_NO_OP;
    if ((u->result.type == NULL && u->op->which != PLI_OP_REPLACE) || t->bytes < KERNEL_WORTH ||
        u->elem.index != 0 || !pli_datatype_is_run(t->type, t->count) ||
        !is_run_or_none(&u->from) || !is_run_or_none(&u->result) ||
        !pli_region_datatype_is_quiet(u->win->region, t->rank)) {
        return false;
    }
    struct pli_rma_cma_update c = { .elem = u->elem.size, .bytes = t->bytes };
    c.in = u->from.type != NULL ? (char *)u->from.buf + u->from.type->true_lb : NULL;
    c.out = u->result.type != NULL ? (char *)u->result.buf + u->result.type->true_lb : NULL;
    c.combine = is_combined ? pli_op_kernel(u->op->which, t->type->elem->number) : NULL;
    size_t done = !is_combined || c.combine != NULL ? pli_rma_cma_update(t, &c) : 0;
    if (done > 0 && done < t->bytes) {
        *err = pli_fail(PLI_ERR_RMA_RANGE,
                        "memory of rank %d cannot be reached after %zu of %zu bytes", t->rank, done,
                        t->bytes);
    }
    return done > 0;
}

static enum pli_err update_far(struct update *u, struct pli_request **out)
{
    struct pli_region_place to = place_of(u);
    struct pli_region_update far = { u->from, u->result, u->op->which, u->elem, u->t.bytes };
    return pli_region_datatype_update(u->win->region, &to, &far, out);
}

static void count(const struct update *u, size_t bytes)
{
    if (pli_statistics_is_on()) {
        pli_statistics_hooks->access(
            u->result.type != NULL ? PLI_STAT_GET_ACCUMULATE : PLI_STAT_ACCUMULATE, bytes);
    }
}

// The usual case in one go: elements of one predefined type that lie side by side, of a member that
// is near. result NULL: what was there is not asked for. False: nothing was done.
static inline bool update_run(const void *from, void *result, MPI_Count n,
                              const struct pli_datatype *type, int target, MPI_Aint disp,
                              const struct pli_op *op, struct pli_win *w)
{
    size_t bytes;
    char *at = pli_rma_near_at(w, target, disp, n, type, &bytes);
    if (__builtin_expect(at == NULL, 0) || type->elem != type || type->index != 0) {
        return false;
    }
    bool is_replace = op->which == PLI_OP_REPLACE;
    pli_op_fn combine = NULL;
    if (!is_replace && op->which != PLI_OP_NO_OP) {
        combine = pli_op_kernel(op->which, type->number); // of a user's: NULL
        if (combine == NULL) {
            return false;
        }
    }
    pli_region_apply_run(combine, is_replace, (size_t)n, bytes, w->peers[target].guard, at, from,
                         result);
    if (pli_statistics_is_on()) {
        pli_statistics_hooks->access(result != NULL ? PLI_STAT_GET_ACCUMULATE : PLI_STAT_ACCUMULATE,
                                     bytes);
    }
    return true;
}

static enum pli_err update(struct update *u, int target, MPI_Aint disp, MPI_Count n_to,
                           struct pli_datatype *to_type, struct pli_request **out)
{
    enum pli_err err = pli_rma_target_find(u->win, target, disp, n_to, to_type, &u->t);
    if (err != PLI_OK || u->t.peer == NULL) {
        return err != PLI_OK ? err : pli_region_datatype_nothing(u->win->region, out);
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
        return err != PLI_OK ? err : pli_region_datatype_nothing(u->win->region, out);
    }
    count(u, u->t.bytes);
    u->elem = pli_region_layout_elem(to_type->elem);
    if (!u->t.peer->is_near && !update_by_kernel(u, &err)) {
        return update_far(u, out);
    }
    err = u->t.peer->is_near ? update_near(u) : err;
    return err == PLI_OK ? pli_region_datatype_nothing(u->win->region, out) : err;
}

// Apart from the usual case, which then needs no room on the stack.
static __attribute__((noinline)) enum pli_err
update_any(struct pli_region_side from, struct pli_region_side result, int target, MPI_Aint disp,
           MPI_Count n_to, struct pli_datatype *to_type, struct pli_op *op, struct pli_win *w,
           struct pli_request **out)
{
    struct update u = { .win = w, .from = from, .result = result, .op = op };
    return update(&u, target, disp, n_to, to_type, out);
}

enum pli_err pli_rma_update(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                            int target, MPI_Aint disp, MPI_Count n_to, struct pli_datatype *to_type,
                            struct pli_op *op, struct pli_win *w)
{
    if (from_type == to_type && n_from == n_to &&
        update_run(from, NULL, n_to, to_type, target, disp, op, w)) {
        return PLI_OK;
    }
    return update_any((struct pli_region_side){ (void *)from, n_from, from_type },
                      (struct pli_region_side){ 0 }, target, disp, n_to, to_type, op, w, NULL);
}

enum pli_err pli_rma_update_request(const void *from, MPI_Count n_from,
                                    struct pli_datatype *from_type, int target, MPI_Aint disp,
                                    MPI_Count n_to, struct pli_datatype *to_type, struct pli_op *op,
                                    struct pli_win *w, struct pli_request **out)
{
    enum pli_err err =
        update_any((struct pli_region_side){ (void *)from, n_from, from_type },
                   (struct pli_region_side){ 0 }, target, disp, n_to, to_type, op, w, out);
    return pli_win_flush_poll_after(err, w, target);
}

enum pli_err pli_rma_update_get(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                void *result, MPI_Count n_result, struct pli_datatype *result_type,
                                int target, MPI_Aint disp, MPI_Count n_to,
                                struct pli_datatype *to_type, struct pli_op *op, struct pli_win *w)
{
    if (from_type == to_type && n_from == n_to && result_type == to_type && n_result == n_to &&
        update_run(from, result, n_to, to_type, target, disp, op, w)) {
        return PLI_OK;
    }
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
    enum pli_err err = update_any((struct pli_region_side){ (void *)from, n_from, from_type },
                                  (struct pli_region_side){ result, n_result, result_type }, target,
                                  disp, n_to, to_type, op, w, out);
    return out != NULL ? pli_win_flush_poll_after(err, w, target) : err;
}

enum pli_err pli_rma_update_fetch(const void *from, void *result, struct pli_datatype *type,
                                  int target, MPI_Aint disp, struct pli_op *op, struct pli_win *w)
{
    if (update_run(from, result, 1, type, target, disp, op, w)) {
        return PLI_OK;
    }
    if (type->elem != type) {
        return pli_fail(PLI_ERR_TYPE, "%s is not a predefined type", pli_datatype_label(type));
    }
    return pli_rma_update_get_request(from, 1, type, result, 1, type, target, disp, 1, type, op, w,
                                      NULL);
}

static bool is_whole_number(const struct pli_datatype *type)
{
    return type->elem == type && type->index == 0 && type->number >= PLI_NUM_I8 &&
           type->number <= PLI_NUM_U128;
}

enum pli_err pli_rma_update_swap(const void *from, const void *compare, void *result,
                                 struct pli_datatype *type, int target, MPI_Aint disp,
                                 struct pli_win *w)
{
    size_t bytes;
    char *at = pli_rma_near_at(w, target, disp, 1, type, &bytes);
    if (at != NULL && is_whole_number(type)) {
        pli_region_apply_swap(bytes, w->peers[target].guard, at, compare, from, result);
        if (pli_statistics_is_on()) {
            pli_statistics_hooks->access(PLI_STAT_COMPARE_AND_SWAP, bytes);
        }
        return PLI_OK;
    }
    struct update u = { .win = w,
                        .from = { (void *)from, 1, type },
                        .result = { result, 1, type } };
    enum pli_err err = pli_rma_target_find(w, target, disp, 1, type, &u.t);
    if (err != PLI_OK || u.t.peer == NULL) {
        return err;
    }
    if (!is_whole_number(type)) {
        return pli_fail(PLI_ERR_TYPE,
                        "%s cannot be compared and swapped; types of integers, logicals and bytes "
                        "can",
                        pli_datatype_label(type));
    }
    if (pli_statistics_is_on()) {
        pli_statistics_hooks->access(PLI_STAT_COMPARE_AND_SWAP, u.t.bytes);
    }
    u.elem = pli_region_layout_elem(type);
    if (!u.t.peer->is_near) {
        struct pli_region_place to = place_of(&u);
        return pli_region_datatype_swap(w->region, &to, &u.elem, compare, from, result);
    }
    pli_region_apply_swap(u.t.bytes, u.t.peer->guard, pli_rma_target_here(&u.t), compare, from,
                          result);
    return PLI_OK;
}
