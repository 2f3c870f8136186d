// SPDX-License-Identifier: BSD-3-Clause
// Builds and compares types.
#include "type.h"

#include <string.h>

struct type *pli_type_copy(struct unit *u, const struct type *t)
{
    struct type *c = pli_unit_arena_alloc(&u->arena, sizeof *c);
    *c = *t;
    return c;
}

struct type *pli_type_basic(struct unit *u, enum type_kind kind)
{
    struct type *t = pli_unit_arena_alloc(&u->arena, sizeof *t);
    t->kind = kind;
    return t;
}

struct type *pli_type_ptr(struct unit *u, struct type *to)
{
    struct type *t = pli_type_basic(u, TY_PTR);
    t->base = to;
    return t;
}

struct type *pli_type_array(struct unit *u, struct type *of, int64_t len, bool threads)
{
    struct type *t = pli_type_basic(u, TY_ARRAY);
    t->base = of;
    t->len = len;
    t->len_threads = threads;
    return t;
}

struct type *pli_type_func(struct unit *u, struct type *ret)
{
    struct type *t = pli_type_basic(u, TY_FUNC);
    t->base = ret;
    return t;
}

struct type *pli_type_qualify(struct unit *u, struct type *t, unsigned quals, int64_t block)
{
    if (quals == 0) {
        return t;
    }
    struct type *c = pli_type_copy(u, t);
    if (t->kind == TY_ARRAY) {
        c->base = pli_type_qualify(u, t->base, quals, block);
        c->tdname = NULL;
        return c;
    }
    if ((quals & Q_SHARED) != 0 && ((t->quals & Q_SHARED) == 0 || block != BLOCK_PLAIN)) {
        c->block = block;
    }
    if (((t->quals ^ quals) & Q_UPC) != 0) {
        c->tdname = NULL;
    }
    c->quals |= quals;
    return c;
}

struct type *pli_type_strip(struct unit *u, struct type *t, unsigned quals)
{
    if ((pli_type_ultimate(t)->quals & quals) == 0) {
        return t;
    }
    struct type *c = pli_type_copy(u, t);
    c->tdname = NULL;
    if (t->kind == TY_ARRAY) {
        c->base = pli_type_strip(u, t->base, quals);
        return c;
    }
    c->quals &= ~quals;
    if ((quals & Q_SHARED) != 0) {
        c->block = 0;
    }
    return c;
}

const struct type *pli_type_ultimate(const struct type *t)
{
    while (t->kind == TY_ARRAY) {
        t = t->base;
    }
    return t;
}

bool pli_type_is_shared(const struct type *t)
{
    return (pli_type_ultimate(t)->quals & Q_SHARED) != 0;
}

bool pli_type_is_pts(const struct type *t)
{
    return t->kind == TY_PTR && pli_type_is_shared(t->base);
}

bool pli_type_is_generic(const struct type *t)
{
    return pli_type_is_pts(t) && t->base->kind == TY_VOID;
}

int64_t pli_type_block(const struct type *t)
{
    int64_t b = pli_type_ultimate(t)->block;
    return b == BLOCK_PLAIN ? 1 : b;
}

bool pli_type_is_integer(const struct type *t)
{
    return t->kind >= TY_BOOL && t->kind <= TY_ENUM;
}

bool pli_type_is_arith(const struct type *t)
{
    return t->kind >= TY_BOOL && t->kind <= TY_COMPLEX;
}

bool pli_type_is_unsigned(const struct type *t)
{
    switch (t->kind) {
    case TY_BOOL:
    case TY_UCHAR:
    case TY_USHORT:
    case TY_UINT:
    case TY_ULONG:
    case TY_ULLONG:
    case TY_UINT128:
        return true;
    case TY_CHAR:
        return (char)-1 > 0;
    case TY_ENUM:
        return t->en->is_unsigned;
    default:
        return false;
    }
}

bool pli_type_is_complete(const struct type *t)
{
    switch (t->kind) {
    case TY_VOID:
        return false;
    case TY_STRUCT:
    case TY_UNION:
        return t->rec->is_complete;
    case TY_ENUM:
        return t->en->is_complete;
    case TY_ARRAY:
        return t->len != LEN_NONE && pli_type_is_complete(t->base);
    default:
        return true;
    }
}

bool pli_type_has_vla(const struct type *t)
{
    for (; t->kind == TY_ARRAY || t->kind == TY_PTR; t = t->base) {
        if (t->kind == TY_ARRAY && t->len == LEN_VLA) {
            return true;
        }
    }
    return false;
}

int pli_type_rank(const struct type *t)
{
    switch (t->kind) {
    case TY_BOOL:
        return 0;
    case TY_CHAR:
    case TY_SCHAR:
    case TY_UCHAR:
        return 1;
    case TY_SHORT:
    case TY_USHORT:
        return 2;
    case TY_INT:
    case TY_UINT:
        return 3;
    case TY_ENUM:
        return t->en->is_long ? 4 : 3;
    case TY_LONG:
    case TY_ULONG:
        return 4;
    case TY_LLONG:
    case TY_ULLONG:
        return 5;
    default:
        return 6;
    }
}

static bool same_params(const struct type *a, const struct type *b)
{
    if (a->is_oldstyle || b->is_oldstyle) {
        return true;
    }
    const struct param *p = a->params, *q = b->params;
    for (; p != NULL && q != NULL; p = p->next, q = q->next) {
        if (!pli_type_compat(p->type, q->type, false)) {
            return false;
        }
    }
    return p == NULL && q == NULL && a->is_variadic == b->is_variadic;
}

bool pli_type_compat(const struct type *a, const struct type *b, bool quals)
{
    if (a == b || a->kind == TY_UNKNOWN || b->kind == TY_UNKNOWN) {
        return true;
    }
    if (quals && a->kind != TY_ARRAY) {
        if (a->quals != b->quals ||
            ((a->quals & Q_SHARED) != 0 && pli_type_block(a) != pli_type_block(b))) {
            return false;
        }
    }
    if (a->kind == TY_ENUM && b->kind == TY_ENUM) {
        return a->en == b->en;
    }
    if (a->kind == TY_ENUM || b->kind == TY_ENUM) {
        const struct type *other = a->kind == TY_ENUM ? b : a;
        return other->kind >= TY_INT && other->kind <= TY_ULLONG;
    }
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case TY_PTR:
        return pli_type_compat(a->base, b->base, true);
    case TY_ARRAY:
        if (a->len >= 0 && b->len >= 0 && (a->len != b->len || a->len_threads != b->len_threads)) {
            return false;
        }
        return pli_type_compat(a->base, b->base, quals);
    case TY_FUNC:
        return pli_type_compat(a->base, b->base, false) && same_params(a, b);
    case TY_STRUCT:
    case TY_UNION:
        return a->rec == b->rec;
    case TY_COMPLEX:
        return a->base->kind == b->base->kind;
    default:
        return true;
    }
}

bool pli_type_is_open(const struct type *t)
{
    const struct type *a = t;
    while (a->kind == TY_ARRAY && !a->len_threads) {
        a = a->base;
    }
    return a->kind == TY_ARRAY && !pli_type_is_shared(t);
}

bool pli_type_needs_print(const struct type *t)
{
    if ((t->quals & Q_UPC) != 0) {
        return true;
    }
    if (pli_type_is_shared(t) || t->is_spelled_out) {
        return true;
    }
    if (t->tdname != NULL) {
        return pli_type_is_pts(t) && (t->quals & Q_RESTRICT) != 0;
    }
    switch (t->kind) {
    case TY_PTR:
        return pli_type_is_pts(t) || pli_type_needs_print(t->base);
    case TY_ARRAY:
        return pli_type_needs_print(t->base);
    case TY_FUNC:
        for (const struct param *p = t->params; p != NULL; p = p->next) {
            if (pli_type_needs_print(p->type)) {
                return true;
            }
        }
        return pli_type_needs_print(t->base);
    default:
        return false;
    }
}

struct member *pli_type_member(const struct record *r, const struct name *name)
{
    for (struct member *m = r->members; m != NULL; m = m->next) {
        if (m->name == name) {
            return m;
        }
        bool anon = m->name == NULL && (m->type->kind == TY_STRUCT || m->type->kind == TY_UNION);
        struct member *inner = anon ? pli_type_member(m->type->rec, name) : NULL;
        if (inner != NULL) {
            return inner;
        }
    }
    return NULL;
}
