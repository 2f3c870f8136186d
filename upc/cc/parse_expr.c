// SPDX-License-Identifier: BSD-3-Clause
// Expressions from the comma operator down to casts and unary operators.
#include "parse.h"

// expression: assignment-expression ("," assignment-expression)*
struct node *pli_parse_expr_comma(struct parser *p)
{
    struct node *n = pli_parse_expr_assign(p);
    while (pli_parse_is(p, ',')) {
        size_t tok = p->at++;
        struct node *a = pli_sema_rvalue(p, n);
        struct node *b = pli_sema_rvalue(p, pli_parse_expr_assign(p));
        struct node *c = pli_sema_node(p, N_COMMA, n->t0);
        c->tok = tok;
        c->a = a;
        c->b = b;
        c->type = b->type;
        c->dyn = true;
        pli_sema_inherit(c, a);
        pli_sema_inherit(c, b);
        n = c;
    }
    return n;
}

static bool is_assign_op(int op)
{
    return op == '=' || (op >= P_MUL_EQ && op <= P_OR_EQ);
}

// assignment-expression: conditional-expression
//                      | unary-expression assignment-operator assignment-expression
struct node *pli_parse_expr_assign(struct parser *p)
{
    pli_parse_enter(p);
    struct node *n = pli_parse_expr_cond(p);
    if (is_assign_op(pli_parse_tok(p)->op)) {
        size_t tok = p->at;
        int op = pli_parse_tok(p)->op;
        p->at++;
        struct node *b = pli_parse_expr_assign(p);
        n = pli_sema_binary_assign(p, op, n, b, tok);
    }
    pli_parse_leave(p);
    return n;
}

static int precedence(int op)
{
    switch (op) {
    case P_OROR:
        return 1;
    case P_ANDAND:
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case P_EQ:
    case P_NE:
        return 6;
    case '<':
    case '>':
    case P_LE:
    case P_GE:
        return 7;
    case P_SHL:
    case P_SHR:
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return 10;
    default:
        return 0;
    }
}

// logical-OR-expression down to multiplicative-expression, by precedence
static struct node *binary_expr(struct parser *p, int min)
{
    struct node *n = pli_parse_expr_cast(p);
    for (;;) {
        int op = pli_parse_tok(p)->op, prec = precedence(op);
        if (prec == 0 || prec < min) {
            return n;
        }
        size_t tok = p->at++;
        struct node *b = binary_expr(p, prec + 1);
        n = pli_sema_binary(p, op, n, b, tok);
    }
}

// conditional-expression: logical-OR-expression ("?" expression? ":" conditional-expression)?
struct node *pli_parse_expr_cond(struct parser *p)
{
    struct node *c = binary_expr(p, 1);
    if (!pli_parse_is(p, '?')) {
        return c;
    }
    pli_parse_enter(p);
    size_t tok = p->at++;
    struct node *a = pli_parse_is(p, ':') ? NULL : pli_parse_expr_comma(p);
    pli_parse_expect(p, ':', "':'");
    struct node *b = pli_parse_expr_cond(p);
    pli_parse_leave(p);
    return pli_sema_binary_cond(p, c, a, b, tok);
}

// compound-literal: "(" type-name ")" "{" initializer-list "}"
static struct node *compound_literal(struct parser *p, size_t t0, struct type *type)
{
    bool dyn = false;
    if (pli_type_is_shared(type)) {
        pli_diag_error(p->u, t0, "compound literal of shared type '%s'",
                       pli_type_print_upc(p->u, type));
    }
    pli_parse_init(p, &type, &dyn);
    struct node *n = pli_sema_node(p, N_LITERAL, t0);
    n->type = type;
    n->dyn = dyn;
    n->is_lvalue = true;
    return n;
}

static struct node *unary_op(struct parser *p)
{
    size_t tok = p->at;
    int op = pli_parse_tok(p)->op;
    p->at++;
    struct node *a = pli_parse_expr_cast(p);
    switch (op) {
    case P_INC:
    case P_DEC:
        return pli_sema_incdec(p, a, op, true, tok);
    case '&':
        return pli_sema_addr(p, a, tok);
    case '*':
        return pli_sema_deref(p, a, tok);
    default:
        return pli_sema_unary(p, op, a, tok);
    }
}

// real-expression: ("__real__" | "__imag__") cast-expression; a part of a complex, an lvalue
static struct node *complex_part(struct parser *p)
{
    size_t tok = p->at++;
    struct node *a = pli_parse_expr_cast(p);
    struct node *n = pli_sema_node(p, N_UNARY, tok);
    n->op = p->u->toks[tok].op;
    bool is_shared = pli_type_is_shared(a->type) && a->is_lvalue;
    bool is_part = is_shared && a->type->kind == TY_COMPLEX; // lies there like a member
    n->is_lvalue = a->is_lvalue && (is_part || !is_shared);
    n->a = is_shared && !is_part ? pli_sema_rvalue(p, a) : a;
    n->type = n->a->type->kind == TY_COMPLEX ? n->a->type->base : n->a->type;
    pli_sema_inherit(n, n->a);
    if (is_part) {
        n->type =
            pli_type_qualify(p->u, n->type, a->type->quals & (Q_CONST | Q_VOLATILE | Q_UPC), 0);
        n->upc = true;
    }
    return n;
}

static struct node *paren_type(struct parser *p)
{
    size_t t0 = p->at++, n0, n1;
    struct type *type = pli_parse_spec_type_name(p, &n0, &n1);
    pli_parse_expect(p, ')', "')'");
    if (pli_parse_is(p, '{')) {
        return pli_parse_prim_suffixes(p, compound_literal(p, t0, type));
    }
    struct node *a = pli_parse_expr_cast(p);
    return pli_sema_cast(p, type, a, t0);
}

static struct node *extension(struct parser *p)
{
    size_t t0 = p->at++;
    struct node *a = pli_parse_expr_cast(p);
    struct node *n = pli_sema_node(p, N_PAREN, t0);
    n->op = KW_EXTENSION;
    n->a = a;
    n->type = a->type;
    n->is_lvalue = a->is_lvalue;
    pli_sema_inherit(n, a);
    return n;
}

// label-address: "&&" identifier, a GNU extension
static struct node *label_address(struct parser *p)
{
    size_t t0 = p->at;
    p->at += 2;
    p->n_label++;
    struct node *n = pli_sema_node(p, N_OPAQUE, t0);
    n->type = pli_type_ptr(p->u, pli_type_basic(p->u, TY_VOID));
    return n;
}

// cast-expression: unary-expression | "(" type-name ")" cast-expression
struct node *pli_parse_expr_cast(struct parser *p)
{
    pli_parse_enter(p);
    struct node *n;
    switch (pli_parse_tok(p)->op) {
    case '(':
        n = pli_parse_spec_starts(p, p->at + 1) ? paren_type(p) : pli_parse_prim_postfix(p);
        break;
    case P_INC:
    case P_DEC:
    case '&':
    case '*':
    case '+':
    case '-':
    case '~':
    case '!':
        n = unary_op(p);
        break;
    case P_ANDAND:
        n = label_address(p);
        break;
    case KW_SIZEOF:
    case KW_ALIGNOF:
    case KW_LOCALSIZEOF:
    case KW_BLOCKSIZEOF:
    case KW_ELEMSIZEOF:
        n = pli_parse_sizeof(p);
        break;
    case KW_EXTENSION:
        n = extension(p);
        break;
    case KW_REAL:
    case KW_IMAG:
        n = complex_part(p);
        break;
    default:
        n = pli_parse_prim_postfix(p);
    }
    pli_parse_leave(p);
    return n;
}
