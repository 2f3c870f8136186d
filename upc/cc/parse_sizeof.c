// SPDX-License-Identifier: BSD-3-Clause
// sizeof, _Alignof and the three size operators of UPC.
#include "parse.h"

static const char *op_name(int op)
{
    switch (op) {
    case KW_LOCALSIZEOF:
        return "upc_localsizeof";
    case KW_BLOCKSIZEOF:
        return "upc_blocksizeof";
    case KW_ELEMSIZEOF:
        return "upc_elemsizeof";
    case KW_SIZEOF:
        return "sizeof";
    default:
        return "_Alignof";
    }
}

// Room that one thread needs for the type: whole blocks, the same on every thread.
static bool local_size(struct parser *p, const struct type *t, int64_t *out)
{
    struct size n = pli_layout_elems(t), s = pli_layout_size(pli_type_ultimate(t));
    int64_t b = pli_type_block(t);
    if (!n.known || !s.known) {
        return false;
    }
    int64_t k = n.n; // elements per thread when THREADS divides them
    if (b > 0 && !n.threads && p->u->opt.static_threads > 0 && t->kind == TY_ARRAY) {
        int64_t all = b * p->u->opt.static_threads;
        *out = (n.n + all - 1) / all * b * s.n;
        return true;
    }
    if (b > 0 && t->kind == TY_ARRAY) {
        k = (k + b - 1) / b * b;
    }
    *out = k * s.n;
    return true;
}

static void check_operand(struct parser *p, int op, const struct type *t, size_t tok)
{
    if (!pli_type_is_shared(t)) {
        if (op != KW_SIZEOF && op != KW_ALIGNOF && t->kind != TY_UNKNOWN) {
            pli_diag_error(p->u, tok, "%s needs an operand of shared type, not '%s'", op_name(op),
                           pli_type_print_upc(p->u, t));
        }
        return;
    }
    if (!pli_type_is_complete(t)) {
        pli_diag_error(p->u, tok, "%s applied to incomplete type '%s'", op_name(op),
                       pli_type_print_upc(p->u, t));
    }
}

static void set_value(struct parser *p, struct node *n, int op, const struct type *t)
{
    struct size s = pli_layout_size(t);
    switch (op) {
    case KW_SIZEOF:
        n->is_const = s.known && !s.threads && !pli_type_has_vla(t);
        n->value = s.n;
        break;
    case KW_ALIGNOF:
        n->is_const = true;
        n->value = pli_layout_align(t);
        break;
    case KW_BLOCKSIZEOF:
        n->is_const = true;
        n->value = pli_type_block(t);
        break;
    case KW_ELEMSIZEOF:
        s = pli_layout_size(pli_type_ultimate(t));
        n->is_const = s.known;
        n->value = s.n;
        break;
    default:
        n->is_const = local_size(p, t, &n->value);
    }
}

// sizeof-expression: op unary-expression | op "(" type-name ")"
struct node *pli_parse_sizeof(struct parser *p)
{
    size_t t0 = p->at++;
    int op = p->u->toks[t0].op;
    struct type *t;
    bool bitfield = false, upc = false;
    p->unevaluated++;
    size_t opd = p->at;
    if (pli_parse_is(p, '(') && pli_parse_spec_starts(p, p->at + 1)) {
        size_t n0, n1;
        p->at++;
        t = pli_parse_spec_type_name(p, &n0, &n1);
        pli_parse_expect(p, ')', "')'");
        if (pli_type_is_shared(t) && pli_type_ultimate(t)->block == BLOCK_STAR) {
            t = pli_sema_decl_star(p, t, opd, false);
        }
        if (pli_parse_is(p, '{')) { // sizeof (T){...}
            bool dyn;
            pli_parse_init(p, &t, &dyn);
        }
    } else {
        struct node *e = pli_parse_expr_cast(p);
        t = e->type;
        upc = e->upc;
        opd = e->tok;
        while (e->kind == N_PAREN) {
            e = e->a;
        }
        bitfield = e->mem != NULL && e->mem->is_bitfield;
    }
    p->unevaluated--;
    bool own = op == KW_LOCALSIZEOF || op == KW_BLOCKSIZEOF || op == KW_ELEMSIZEOF;
    struct node *n = pli_sema_node(p, own ? N_UPCSIZE : N_SIZEOF, t0);
    check_operand(p, op, t, opd);
    if (bitfield && pli_type_is_shared(t)) {
        pli_diag_error(p->u, opd, "%s applied to a bit-field", op_name(op));
    }
    n->op = op;
    n->a = NULL;
    n->upc = own || upc || pli_type_is_shared(t);
    n->type = pli_type_basic(p->u, TY_ULONG);
    n->b = pli_sema_node(p, N_OPAQUE, opd); // carries the operand's type
    n->b->type = t;
    if (t->kind != TY_FUNC && pli_type_is_complete(t)) {
        set_value(p, n, op, t);
    }
    n->has_threads = op == KW_SIZEOF && pli_layout_size(t).threads;
    return n;
}
