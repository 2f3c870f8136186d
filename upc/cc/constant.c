// SPDX-License-Identifier: BSD-3-Clause
// Evaluates integer constant expressions.
#include "constant.h"

#include "layout.h"

static int64_t wrap_to(const struct type *t, int64_t v)
{
    struct size s = pli_layout_size(t);
    bool uns = pli_type_is_unsigned(t);
    if (t->kind == TY_BOOL) {
        return v != 0;
    }
    switch (s.n) {
    case 1:
        return uns ? (int64_t)(uint8_t)v : (int64_t)(int8_t)v;
    case 2:
        return uns ? (int64_t)(uint16_t)v : (int64_t)(int16_t)v;
    case 4:
        return uns ? (int64_t)(uint32_t)v : (int64_t)(int32_t)v;
    default:
        return v;
    }
}

static bool divide(int op, bool uns, int64_t x, int64_t y, int64_t *out)
{
    if (y == 0 || (!uns && x == INT64_MIN && y == -1)) {
        return false;
    }
    if (uns) {
        *out = (int64_t)(op == '/' ? (uint64_t)x / (uint64_t)y : (uint64_t)x % (uint64_t)y);
    } else {
        *out = op == '/' ? x / y : x % y;
    }
    return true;
}

static bool binary(const struct node *n, int64_t x, int64_t y, int64_t *out)
{
    const struct type *ta = n->a->type, *tb = n->b->type;
    bool uns = (pli_type_is_unsigned(ta) && pli_type_rank(ta) >= 3) ||
               (pli_type_is_unsigned(tb) && pli_type_rank(tb) >= 3);
    uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    switch (n->op) {
    case '+':
        *out = (int64_t)(ux + uy);
        break;
    case '-':
        *out = (int64_t)(ux - uy);
        break;
    case '*':
        *out = (int64_t)(ux * uy);
        break;
    case '/':
    case '%':
        return divide(n->op, uns, x, y, out);
    case '&':
        *out = x & y;
        break;
    case '|':
        *out = x | y;
        break;
    case '^':
        *out = x ^ y;
        break;
    case P_SHL:
        *out = (int64_t)(ux << (uy & 63));
        break;
    case P_SHR:
        *out = pli_type_is_unsigned(n->type) ? (int64_t)(ux >> (uy & 63)) : x >> (uy & 63);
        break;
    case '<':
        *out = uns ? ux < uy : x < y;
        return true;
    case '>':
        *out = uns ? ux > uy : x > y;
        return true;
    case P_LE:
        *out = uns ? ux <= uy : x <= y;
        return true;
    case P_GE:
        *out = uns ? ux >= uy : x >= y;
        return true;
    case P_EQ:
        *out = x == y;
        return true;
    case P_NE:
        *out = x != y;
        return true;
    default:
        return false;
    }
    *out = wrap_to(n->type, *out);
    return true;
}

static bool logical(const struct node *n, int64_t *out)
{
    int64_t x, y;
    if (!pli_constant_eval(n->a, &x)) {
        return false;
    }
    bool stop = n->op == P_ANDAND ? x == 0 : x != 0;
    if (stop) {
        *out = n->op == P_OROR;
        return true;
    }
    if (!pli_constant_eval(n->b, &y)) {
        return false;
    }
    *out = y != 0;
    return true;
}

static bool unary(const struct node *n, int64_t *out)
{
    int64_t x;
    if (!pli_constant_eval(n->a, &x)) {
        return false;
    }
    switch (n->op) {
    case '+':
        *out = x;
        break;
    case '-':
        *out = (int64_t)(0 - (uint64_t)x);
        break;
    case '~':
        *out = ~x;
        break;
    case '!':
        *out = x == 0;
        return true;
    default:
        return false;
    }
    *out = wrap_to(n->type, *out);
    return true;
}

bool pli_constant_eval(const struct node *n, int64_t *out)
{
    int64_t x, y;
    switch (n->kind) {
    case N_NUM:
    case N_OPAQUE:
    case N_UPCSIZE:
    case N_SIZEOF:
    case N_THREADS:
        *out = n->value;
        return n->is_const;
    case N_IDENT:
        if (n->sym != NULL && n->sym->kind == SYM_ENUMCONST) {
            *out = n->sym->value;
            return true;
        }
        return false;
    case N_PAREN:
    case N_RVALUE:
        return pli_constant_eval(n->a, out);
    case N_CAST:
        if (!pli_type_is_integer(n->type) || !pli_constant_eval(n->a, &x)) {
            return false;
        }
        *out = wrap_to(n->type, x);
        return true;
    case N_UNARY:
        return unary(n, out);
    case N_BINARY:
        if (n->op == P_ANDAND || n->op == P_OROR) {
            return logical(n, out);
        }
        return pli_constant_eval(n->a, &x) && pli_constant_eval(n->b, &y) && binary(n, x, y, out);
    case N_COND:
        if (!pli_constant_eval(n->a, &x)) {
            return false;
        }
        return pli_constant_eval(x != 0 && n->b != NULL ? n->b : x != 0 ? n->a : n->c, out);
    default:
        return false;
    }
}

bool pli_constant_is_null(const struct node *n)
{
    while (n->kind == N_PAREN || n->kind == N_RVALUE) {
        n = n->a;
    }
    if (n->kind == N_CAST && n->type->kind == TY_PTR && n->type->base->kind == TY_VOID &&
        n->type->base->quals == 0) {
        n = n->a;
    }
    int64_t v;
    return pli_type_is_integer(n->type) && pli_constant_eval(n, &v) && v == 0;
}

bool pli_constant_dim(const struct node *n, int64_t *k, int *n_threads)
{
    while (n->kind == N_PAREN || n->kind == N_RVALUE) {
        n = n->a;
    }
    if (n->kind == N_THREADS && !n->is_const) {
        *k = 1;
        *n_threads = 1;
        return true;
    }
    if (n->has_threads && n->kind == N_BINARY && n->op == '*') {
        int64_t x, y;
        int nx, ny;
        if (!pli_constant_dim(n->a, &x, &nx) || !pli_constant_dim(n->b, &y, &ny) ||
            __builtin_mul_overflow(x, y, k)) {
            return false;
        }
        *n_threads = nx + ny;
        return true;
    }
    *n_threads = 0;
    return pli_constant_eval(n, k);
}
