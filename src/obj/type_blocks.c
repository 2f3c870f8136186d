// SPDX-License-Identifier: BSD-3-Clause
// From the recipe of a datatype to its size, bounds and plan.
#include "obj/type_blocks.h"

#include "obj/datatype_priv.h"

enum { DEPTH_MAX = 4096 }; // walks over recipes recurse this deep at most

static MPI_Count round_up(MPI_Count n, MPI_Count to)
{
    return (n + to - 1) / to * to;
}

// The i-th number of the recipe, counted over integers or, for large-count recipes, counts.
static MPI_Count number_at(const struct pli_type_recipe *r, MPI_Count i)
{
    return r->is_large ? r->counts[i] : r->ints[i];
}

struct pli_type_blocks pli_type_blocks_of(const struct pli_datatype *t)
{
    struct pli_type_blocks b = { .type = t };
    const struct pli_type_recipe *r = t->recipe;
    if (r == NULL) {
        return b;
    }
    switch (r->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        b.n = 1;
        b.len = number_at(r, 0);
        b.is_loop = true;
        break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        b.n = number_at(r, 0);
        b.len = number_at(r, 1);
        b.is_loop = true;
        if (r->combiner == MPI_COMBINER_HVECTOR) {
            b.stride = r->is_large ? r->counts[2] : r->addrs[0];
        } else if (b.n > 1) {
            b.stride = number_at(r, 2) * r->types[0]->extent; // checked when it was made
        }
        break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        b.n = number_at(r, 0);
        break;
    case MPI_COMBINER_VALUE_INDEX:
        b.n = 2;
        break;
    default: // one of something
        b.n = b.len = 1;
        b.is_loop = true;
    }
    return b;
}

struct pli_type_block pli_type_blocks_at(const struct pli_type_blocks *b, MPI_Count i)
{
    const struct pli_type_recipe *r = b->type->recipe;
    struct pli_type_block k = { .child = r->inner != NULL ? r->inner : r->types[0] };
    MPI_Count index;
    if (b->is_loop) {
        k.len = b->len;
        k.disp = i * b->stride;
        return k;
    }
    switch (r->combiner) {
    case MPI_COMBINER_INDEXED:
        k.len = number_at(r, 1 + i);
        index = number_at(r, 1 + b->n + i);
        k.is_far = __builtin_mul_overflow(index, k.child->extent, &k.disp);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        k.len = number_at(r, 1);
        index = number_at(r, 2 + i);
        k.is_far = __builtin_mul_overflow(index, k.child->extent, &k.disp);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        k.len = number_at(r, 1);
        k.disp = r->is_large ? r->counts[2 + i] : r->addrs[i];
        break;
    case MPI_COMBINER_STRUCT:
        k.child = r->types[i];
        __attribute__((fallthrough));
    case MPI_COMBINER_HINDEXED:
        k.len = number_at(r, 1 + i);
        k.disp = r->is_large ? r->counts[1 + b->n + i] : r->addrs[i];
        break;
    default: // a value and an index
        k.len = 1;
        k.child = r->types[i];
        k.disp = i == 0 ? 0 : round_up(r->types[0]->size, r->types[1]->align);
    }
    return k;
}

// What the blocks add up to. A bound that a user has set anywhere inside wins over the data's.
struct sum {
    bool has_data, has_lb, has_ub, is_mixed, is_too_big;
    MPI_Count size, n_elem, ext_size, long8_size;
    MPI_Count true_lb, true_ub; // of the data
    MPI_Count lb, ub;           // those that users set; the data's where they set none
    int align, depth;
    const struct pli_datatype *elem;
};

// *total += n * each
static void add_times(struct sum *s, MPI_Count *total, MPI_Count n, MPI_Count each)
{
    MPI_Count part;
    s->is_too_big |= __builtin_mul_overflow(n, each, &part);
    s->is_too_big |= __builtin_add_overflow(*total, part, total);
}

// Widen [lo, hi) by a range at both ends of the places.
static void widen(struct sum *s, bool *has, MPI_Count *lo, MPI_Count *hi, MPI_Count from,
                  MPI_Count to)
{
    if (!*has || from < *lo) {
        *lo = from;
    }
    if (!*has || to > *hi) {
        *hi = to;
    }
    *has = true;
    MPI_Count span;
    s->is_too_big |= __builtin_sub_overflow(*hi, *lo, &span);
}

static MPI_Count plus(struct sum *s, MPI_Count a, MPI_Count b)
{
    MPI_Count c;
    s->is_too_big |= __builtin_add_overflow(a, b, &c);
    return c;
}

// First and last place of n things, stride apart.
static void extremes(struct sum *s, MPI_Count n, MPI_Count stride, MPI_Count *lo, MPI_Count *hi)
{
    MPI_Count far;
    s->is_too_big |= __builtin_mul_overflow(n - 1, stride, &far);
    *lo = far < 0 ? far : 0;
    *hi = far < 0 ? 0 : far;
}

// `n` rounds, stride apart, of a block.
static void add_block(struct sum *s, MPI_Count n, MPI_Count stride, const struct pli_type_block *k)
{
    const struct pli_datatype *c = k->child;
    if (n == 0 || k->len == 0 || (c->size == 0 && !c->has_lb && !c->has_ub)) {
        return;
    }
    MPI_Count all, lo, hi, lo2, hi2;
    s->is_too_big |= __builtin_mul_overflow(n, k->len, &all) || k->is_far;
    extremes(s, n, stride, &lo, &hi);
    extremes(s, k->len, c->extent, &lo2, &hi2);
    lo = plus(s, plus(s, lo, lo2), k->disp);
    hi = plus(s, plus(s, hi, hi2), k->disp);
    if (s->is_too_big) {
        return;
    }
    MPI_Count begin = plus(s, lo, c->lb), end = plus(s, hi, plus(s, c->lb, c->extent));
    if (c->has_lb) {
        s->lb = s->has_lb && s->lb < begin ? s->lb : begin;
        s->has_lb = true;
    }
    if (c->has_ub) {
        s->ub = s->has_ub && s->ub > end ? s->ub : end;
        s->has_ub = true;
    }
    if (c->size > 0) {
        s->is_mixed |= c->elem == NULL || (s->elem != NULL && s->elem != c->elem);
        s->elem = c->elem;
        s->align = c->align > s->align ? c->align : s->align;
        add_times(s, &s->size, all, c->size);
        add_times(s, &s->n_elem, all, c->n_elem);
        add_times(s, &s->ext_size, all, c->ext_size);
        add_times(s, &s->long8_size, all, c->long8_size);
        widen(s, &s->has_data, &s->true_lb, &s->true_ub, plus(s, lo, c->true_lb),
              plus(s, hi, plus(s, c->true_lb, c->true_extent)));
    }
    s->depth = c->depth > s->depth ? c->depth : s->depth;
}

static void part_of(const void *arg, MPI_Count i, struct pli_type_part *out)
{
    struct pli_type_block k = pli_type_blocks_at(arg, i);
    *out = (struct pli_type_part){
        .node = k.child->plan, .disp = k.disp, .n = k.len, .stride = k.child->extent
    };
}

static enum pli_err make_plan(struct pli_datatype *t, const struct pli_type_blocks *b)
{
    if (!b->is_loop) {
        return pli_type_plan_list(t, b->n, part_of, b, &t->plan);
    }
    struct pli_type_block k = pli_type_blocks_at(b, 0);
    const struct pli_type_node *row;
    enum pli_err err = pli_type_plan_loop(t, k.len, k.child->extent, k.child->plan, 0, &row);
    return err == PLI_OK ? pli_type_plan_loop(t, b->n, b->stride, row, 0, &t->plan) : err;
}

// Bounds that no user has set come from the data, the end rounded up as of a C structure.
static void set_bounds(struct sum *s)
{
    MPI_Count span;
    if (!s->has_lb) {
        s->lb = s->true_lb;
    }
    if (!s->has_ub) {
        s->ub = plus(s, s->true_lb, round_up(s->true_ub - s->true_lb, s->align));
    }
    s->is_too_big |= __builtin_sub_overflow(s->ub, s->lb, &span);
}

static enum pli_err add_all(struct sum *s, const struct pli_type_blocks *b)
{
    if (b->is_loop) {
        struct pli_type_block k = pli_type_blocks_at(b, 0);
        add_block(s, b->n, b->stride, &k);
    } else {
        for (MPI_Count i = 0; i < b->n && !s->is_too_big; i++) {
            struct pli_type_block k = pli_type_blocks_at(b, i);
            add_block(s, 1, 0, &k);
        }
    }
    s->depth += !b->is_loop || b->n > 1 || b->len > 1;
    if (!s->is_too_big) {
        set_bounds(s);
    }
    if (s->is_too_big) {
        return pli_fail(PLI_ERR_ARG, "the datatype spans more bytes than a 64-bit number counts");
    }
    if (s->depth > DEPTH_MAX) {
        return pli_fail(PLI_ERR_TYPE, "datatypes are nested more than %d deep", DEPTH_MAX);
    }
    return PLI_OK;
}

enum pli_err pli_type_blocks_finish(struct pli_datatype *t)
{
    struct pli_type_blocks b = pli_type_blocks_of(t);
    struct sum s = { .align = 1 };
    enum pli_err err = add_all(&s, &b);
    if (err == PLI_OK) {
        err = make_plan(t, &b);
    }
    if (err != PLI_OK) {
        return err;
    }
    t->size = s.size;
    t->true_lb = s.true_lb;
    t->true_extent = s.true_ub - s.true_lb;
    t->has_lb = s.has_lb;
    t->has_ub = s.has_ub;
    t->lb = s.lb;
    t->extent = s.ub - s.lb;
    t->align = s.align;
    t->depth = s.depth;
    t->elem = s.is_mixed ? NULL : s.elem;
    t->form = t->elem != NULL ? t->elem->form : PLI_FORM_MIXED;
    t->n_elem = s.n_elem;
    t->ext_size = s.ext_size;
    t->long8_size = s.long8_size;
    t->is_run = t->size == 0 || t->plan->kind == PLI_NODE_RUN;
    t->is_dense = t->is_run && t->size == t->extent;
    return PLI_OK;
}

enum pli_err pli_type_blocks_complete(struct pli_datatype *t, struct pli_datatype **out)
{
    enum pli_err err = pli_type_blocks_finish(t);
    if (err != PLI_OK) {
        pli_datatype_release(t);
        return err;
    }
    *out = t;
    return PLI_OK;
}
