// SPDX-License-Identifier: BSD-3-Clause
// Makes typed nodes for binary operators, conditionals and assignments.
#include "sema_binary.h"

#include "constant.h"
#include "layout.h"
#include "parse.h"
#include "parse_cursor.h"
#include "sema.h"
#include "sema_conv.h"
#include "type_print.h"

static struct type *usual(struct parser *p, struct type *a, struct type *b)
{
    if (a->kind == TY_UNKNOWN || b->kind == TY_UNKNOWN) {
        return pli_type_basic(p->u, TY_UNKNOWN);
    }
    if (a->kind == TY_COMPLEX || b->kind == TY_COMPLEX) {
        struct type *ea = a->kind == TY_COMPLEX ? a->base : a;
        struct type *eb = b->kind == TY_COMPLEX ? b->base : b;
        struct type *c = pli_type_basic(p->u, TY_COMPLEX);
        c->base = usual(p, ea, eb);
        return c;
    }
    if (!pli_type_is_integer(a) || !pli_type_is_integer(b)) {
        return pli_type_basic(p->u, a->kind > b->kind ? a->kind : b->kind);
    }
    a = pli_sema_promote(p, a);
    b = pli_sema_promote(p, b);
    if (pli_type_rank(a) != pli_type_rank(b)) {
        struct type *hi = pli_type_rank(a) > pli_type_rank(b) ? a : b;
        struct type *lo = hi == a ? b : a;
        bool mixed = pli_type_is_unsigned(lo) && !pli_type_is_unsigned(hi) &&
                     pli_layout_size(lo).n == pli_layout_size(hi).n;
        return mixed ? pli_type_basic(p->u, TY_ULLONG) : hi;
    }
    return pli_type_is_unsigned(a) ? a : b;
}

static bool is_relational(int op)
{
    return op == '<' || op == '>' || op == P_LE || op == P_GE;
}

static void mixed_error(struct parser *p, size_t tok, const struct node *a, const struct node *b)
{
    pli_diag_error(p->u, tok, "invalid operands to binary operator: '%s' and '%s'",
                   pli_type_print_upc(p->u, a->type), pli_type_print_upc(p->u, b->type));
}

static void same_target(struct parser *p, size_t tok, const struct node *a, const struct node *b)
{
    if (pli_type_block(a->type->base) != pli_type_block(b->type->base)) {
        pli_diag_error(p->u, tok, "pointers-to-shared with different block sizes: '%s' and '%s'",
                       pli_type_print_upc(p->u, a->type), pli_type_print_upc(p->u, b->type));
    } else if (!pli_type_compat(a->type->base, b->type->base, false)) {
        pli_diag_error(p->u, tok, "pointers-to-shared to incompatible types: '%s' and '%s'",
                       pli_type_print_upc(p->u, a->type), pli_type_print_upc(p->u, b->type));
    }
}

static void need_complete(struct parser *p, size_t tok, const struct type *t)
{
    if (!pli_type_is_complete(t->base)) {
        pli_diag_error(p->u, tok, "operator needs a pointer to a complete type, not '%s'",
                       pli_type_print_upc(p->u, t));
    }
}

// Both operands are values and at least one is a pointer-to-shared.
static void pts_operands(struct parser *p, struct node *n)
{
    struct node *a = n->a, *b = n->b;
    bool pa = pli_type_is_pts(a->type), pb = pli_type_is_pts(b->type);
    n->upc = n->rewrite = true;
    if (n->op == P_EQ || n->op == P_NE) {
        if (pa && pb) {
            if (!pli_type_is_generic(a->type) && !pli_type_is_generic(b->type)) {
                same_target(p, n->tok, a, b);
            }
        } else {
            struct node **other = pa ? &n->b : &n->a;
            if (pli_constant_is_null(*other)) {
                *other = pli_sema_conv(p, *other, pa ? a->type : b->type, "comparison");
            } else if ((*other)->type->kind != TY_UNKNOWN) {
                mixed_error(p, n->tok, a, b);
            }
        }
        return;
    }
    if (pa && pb && (is_relational(n->op) || n->op == '-')) {
        need_complete(p, n->tok, pli_type_is_complete(a->type->base) ? b->type : a->type);
        same_target(p, n->tok, a, b);
        return;
    }
    bool step = (n->op == '+' && pa != pb) || (n->op == '-' && pa);
    const struct node *idx = pa ? b : a;
    if (!step || (!pli_type_is_integer(idx->type) && idx->type->kind != TY_UNKNOWN)) {
        mixed_error(p, n->tok, a, b);
        return;
    }
    need_complete(p, n->tok, pa ? a->type : b->type);
}

static struct type *binary_type(struct parser *p, int op, struct type *a, struct type *b)
{
    switch (op) {
    case P_EQ:
    case P_NE:
    case '<':
    case '>':
    case P_LE:
    case P_GE:
    case P_ANDAND:
    case P_OROR:
        if (a->kind == TY_UNKNOWN && b->kind == TY_UNKNOWN) {
            return a; // vectors compare to vectors
        }
        return pli_type_basic(p->u, TY_INT);
    case P_SHL:
    case P_SHR:
        return pli_sema_promote(p, a);
    case '+':
    case '-':
        if (a->kind == TY_PTR && b->kind == TY_PTR) {
            return pli_type_basic(p->u, TY_LONG);
        }
        if (a->kind == TY_PTR || b->kind == TY_PTR) {
            return a->kind == TY_PTR ? a : b;
        }
        break;
    default:
        break;
    }
    if (!pli_type_is_arith(a) || !pli_type_is_arith(b)) {
        return pli_type_basic(p->u, TY_UNKNOWN);
    }
    return usual(p, a, b);
}

struct node *pli_sema_binary(struct parser *p, int op, struct node *a, struct node *b, size_t tok)
{
    struct node *n = pli_sema_node(p, N_BINARY, a->t0);
    n->op = op;
    n->tok = tok;
    n->a = pli_sema_rvalue(p, a);
    n->b = pli_sema_rvalue(p, b);
    n->type = binary_type(p, op, n->a->type, n->b->type);
    pli_sema_inherit(n, n->a);
    pli_sema_inherit(n, n->b);
    bool any = pli_type_is_pts(n->a->type) || pli_type_is_pts(n->b->type);
    if (any && op != P_ANDAND && op != P_OROR) {
        pts_operands(p, n);
    }
    return n;
}

static struct type *cond_pts(struct parser *p, struct node *n)
{
    struct type *a = n->b->type, *b = n->c->type;
    if (pli_type_is_pts(a) && pli_type_is_pts(b)) {
        if (pli_type_is_generic(a) || pli_type_is_generic(b)) {
            return pli_type_is_generic(a) ? a : b;
        }
        same_target(p, n->tok, n->b, n->c);
        unsigned q = pli_type_ultimate(b->base)->quals & ~(unsigned)Q_SHARED;
        return pli_type_ptr(p->u, pli_type_qualify(p->u, a->base, q, BLOCK_PLAIN));
    }
    struct type *pts = pli_type_is_pts(a) ? a : b;
    struct node **other = pts == a ? &n->c : &n->b;
    if (pli_constant_is_null(*other)) {
        *other = pli_sema_conv(p, *other, pts, "conditional expression");
        n->upc = true;
    } else if ((*other)->type->kind != TY_UNKNOWN) {
        pli_diag_error(p->u, n->tok, "conditional expression mixes '%s' and '%s'",
                       pli_type_print_upc(p->u, a), pli_type_print_upc(p->u, b));
    }
    return pts;
}

// c ? a : b, where a may be missing as in GNU C
struct node *pli_sema_binary_cond(struct parser *p, struct node *c, struct node *a, struct node *b,
                                  size_t tok)
{
    struct node *n = pli_sema_node(p, N_COND, c->t0);
    n->tok = tok;
    n->a = pli_sema_rvalue(p, c);
    n->b = a == NULL ? NULL : pli_sema_rvalue(p, a);
    n->c = pli_sema_rvalue(p, b);
    pli_sema_inherit(n, n->a);
    if (n->b != NULL) {
        pli_sema_inherit(n, n->b);
    }
    pli_sema_inherit(n, n->c);
    if (n->b == NULL) {
        n->type = n->a->type;
        return n;
    }
    struct type *ta = n->b->type, *tb = n->c->type;
    if (pli_type_is_pts(ta) || pli_type_is_pts(tb)) {
        n->type = cond_pts(p, n);
    } else if (pli_type_is_arith(ta) && pli_type_is_arith(tb)) {
        n->type = usual(p, ta, tb);
    } else if (ta->kind == TY_PTR && tb->kind == TY_PTR) {
        // A null constant takes the other's type; void * wins over the rest.
        bool second = pli_constant_is_null(n->b) ||
                      (tb->base->kind == TY_VOID && !pli_constant_is_null(n->c));
        n->type = second ? tb : ta;
    } else {
        n->type = ta->kind == TY_PTR ? ta : tb->kind == TY_PTR ? tb : ta;
    }
    return n;
}

static int plain_op(int op)
{
    switch (op) {
    case P_ADD_EQ:
        return '+';
    case P_SUB_EQ:
        return '-';
    case P_MUL_EQ:
        return '*';
    default:
        return '/';
    }
}

// p += THREADS
static bool is_stride(struct parser *p, const struct node *by)
{
    int64_t v;
    int fixed = p->u->opt.static_threads;
    while (by->kind == N_PAREN || by->kind == N_RVALUE) {
        by = by->a;
    }
    return by->kind == N_THREADS || (fixed > 0 && pli_constant_eval(by, &v) && v == fixed);
}

struct node *pli_sema_binary_assign(struct parser *p, int op, struct node *a, struct node *b,
                                    size_t tok)
{
    struct node *n = pli_sema_node(p, N_ASSIGN, a->t0);
    n->op = op;
    n->tok = tok;
    n->a = a;
    n->dyn = true;
    n->type = pli_type_strip(p->u, a->type, ~0u);
    struct node *in = a;
    while (in->kind == N_PAREN) {
        in = in->a;
    }
    bool shared = pli_type_is_shared(a->type);
    bool is_value = in->kind == N_ADDR || in->kind == N_BINARY || in->kind == N_CALL;
    unsigned q = pli_type_ultimate(a->type)->quals;
    if (in->kind == N_THREADS || in->kind == N_MYTHREAD) {
        pli_diag_error(p->u, in->tok, "'%s' is not an lvalue",
                       in->kind == N_THREADS ? "THREADS" : "MYTHREAD");
    } else if ((shared && (!in->is_lvalue || a->type->kind == TY_ARRAY)) ||
               (is_value && pli_type_is_pts(a->type))) {
        pli_diag_error(p->u, tok, "lvalue required as left operand of assignment");
    } else if (shared && (q & Q_CONST) != 0) {
        pli_diag_error(p->u, tok, "assignment to a read-only shared object");
    }
    if (op != '=') {
        pli_sema_no_atomic_update(p, a, tok);
    }
    pli_sema_note_write(p, a);
    if (op == '=') {
        n->b = pli_sema_conv(p, b, n->type, "assignment");
    } else {
        n->b = pli_sema_rvalue(p, b);
        if (pli_type_is_pts(a->type)) {
            n->upc = n->rewrite = true;
            if (op == P_ADD_EQ && is_stride(p, n->b)) {
                pli_parse_cursor_note(p, a, USE_STRIDE);
            }
            struct node probe = *n;
            probe.op = plain_op(op);
            probe.a = pli_sema_rvalue(p, a);
            pts_operands(p, &probe);
        } else if (pli_type_is_pts(n->b->type)) {
            mixed_error(p, tok, a, n->b);
        }
    }
    pli_sema_inherit(n, a);
    pli_sema_inherit(n, n->b);
    if (shared) {
        n->upc = true;
        n->is_strict = (q & Q_STRICT) != 0 || ((q & Q_RELAXED) == 0 && p->strict);
        p->n_order += n->is_strict;
        p->n_sync += n->is_strict;
        if (!pli_type_compat(n->type, n->b->type, false) && n->type->kind >= TY_STRUCT) {
            pli_diag_error(p->u, tok, "incompatible types when assigning to '%s' from '%s'",
                           pli_type_print_upc(p->u, a->type), pli_type_print_upc(p->u, n->b->type));
        }
    }
    return n;
}
