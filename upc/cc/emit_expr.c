// SPDX-License-Identifier: BSD-3-Clause
// Writes expressions that must be rewritten. A part that is plain C is copied.
#include "emit_expr.h"

#include "emit.h"
#include "emit_access.h"
#include "layout.h"
#include "lex.h"

void pli_emit_expr_arg(struct emitter *e, struct node *n)
{
    pli_emit_puts(e, "(");
    pli_emit_expr(e, n);
    pli_emit_puts(e, ")");
}

static void op_token(struct emitter *e, size_t tok)
{
    const struct token *t = &e->u->toks[tok];
    pli_emit_puts(e, " ");
    pli_emit_place(e, tok);
    pli_emit_printf(e, "%.*s ", (int)t->len, t->text);
}

// == and != ignore the phase; types without one compare as they are.
static void equality(struct emitter *e, struct node *n)
{
    bool phased = false;
    struct node *both[2] = { n->a, n->b };
    for (int i = 0; i < 2; i++) {
        const struct type *t = both[i]->type;
        phased |= both[i]->kind != N_NULL && pli_type_is_pts(t) &&
                  (pli_type_is_generic(t) || pli_type_block(t->base) > 1);
    }
    bool null = n->a->kind == N_NULL || n->b->kind == N_NULL;
    if (phased && !null) {
        pli_emit_puts(e, n->op == P_NE ? "(!pli_upc_same(" : "(pli_upc_same(");
        pli_emit_expr_arg(e, n->a);
        pli_emit_puts(e, ", ");
        pli_emit_expr_arg(e, n->b);
        pli_emit_puts(e, "))");
        return;
    }
    pli_emit_puts(e, "(");
    pli_emit_expr_arg(e, n->a);
    op_token(e, n->tok);
    pli_emit_expr_arg(e, n->b);
    pli_emit_puts(e, ")");
}

static void pts_binary(struct emitter *e, struct node *n)
{
    if (n->op == P_EQ || n->op == P_NE) {
        equality(e, n);
        return;
    }
    bool pa = pli_type_is_pts(n->a->type), pb = pli_type_is_pts(n->b->type);
    if (pa && pb) {
        pli_emit_puts(e, "(");
        pli_emit_access_diff(e, n->a, n->b);
        if (n->op != '-') {
            op_token(e, n->tok);
            pli_emit_puts(e, "0");
        }
        pli_emit_puts(e, ")");
        return;
    }
    struct node *ptr = pa ? n->a : n->b, *idx = pa ? n->b : n->a;
    pli_emit_access_step(e, ptr->type, ptr, NULL, idx, n->op == '-');
}

static void binary(struct emitter *e, struct node *n)
{
    if (n->rewrite) {
        pts_binary(e, n);
        return;
    }
    pli_emit_expr(e, n->a);
    op_token(e, n->tok);
    pli_emit_expr(e, n->b);
}

static void call(struct emitter *e, struct node *n)
{
    pli_emit_expr(e, n->a);
    pli_emit_puts(e, "(");
    for (struct node *a = n->args; a != NULL; a = a->next) {
        pli_emit_expr(e, a);
        pli_emit_puts(e, a->next != NULL ? ", " : "");
    }
    pli_emit_puts(e, ")");
}

static void cond(struct emitter *e, struct node *n)
{
    pli_emit_expr(e, n->a);
    pli_emit_puts(e, " ? ");
    if (n->b != NULL) {
        pli_emit_expr_arg(e, n->b);
    }
    pli_emit_puts(e, " : ");
    pli_emit_expr(e, n->c);
}

// Sizes are left to the C compiler, which knows the layout of everything.
static void size_op(struct emitter *e, struct node *n)
{
    if (n->op == KW_TYPES_COMPATIBLE) {
        pli_emit_printf(e, "%d", n->value != 0);
        return;
    }
    const struct type *t = n->b->type, *ult = pli_type_ultimate(t);
    switch (n->op) {
    case KW_BLOCKSIZEOF:
        pli_emit_printf(e, "((__SIZE_TYPE__)%lld)", (long long)n->value);
        break;
    case KW_LOCALSIZEOF:
    case KW_ELEMSIZEOF: {
        struct size s = pli_layout_size(ult);
        long long k = n->op == KW_ELEMSIZEOF || !n->is_const || s.n <= 0 ? 1 : n->value / s.n;
        pli_emit_printf(e, "(%lld * sizeof(", k);
        pli_emit_type(e, ult);
        pli_emit_puts(e, "))");
        break;
    }
    default:
        pli_emit_puts(e, n->op == KW_SIZEOF ? "sizeof(" : "_Alignof(");
        pli_emit_type(e, t);
        pli_emit_puts(e, ")");
    }
}

static void paren(struct emitter *e, struct node *n)
{
    if (n->op == KW_EXTENSION) {
        pli_emit_puts(e, "__extension__ ");
        pli_emit_expr(e, n->a);
        return;
    }
    pli_emit_expr_arg(e, n->a);
}

static void member(struct emitter *e, struct node *n)
{
    pli_emit_expr(e, n->a);
    pli_emit_puts(e, n->kind == N_ARROW ? "->" : ".");
    pli_emit_puts(e, n->mem != NULL && n->mem->name != NULL ? n->mem->name->text
                                                            : e->u->toks[n->tok].name->text);
}

static void index_private(struct emitter *e, struct node *n)
{
    pli_emit_expr(e, n->op ? n->b : n->a);
    pli_emit_puts(e, "[");
    pli_emit_expr(e, n->op ? n->a : n->b);
    pli_emit_puts(e, "]");
}

static void comma(struct emitter *e, struct node *n)
{
    pli_emit_expr(e, n->a);
    pli_emit_puts(e, ", ");
    pli_emit_expr(e, n->b);
}

static void unary(struct emitter *e, struct node *n)
{
    op_token(e, n->tok);
    pli_emit_expr(e, n->a);
}

static void pointer_cast(struct emitter *e, struct node *n)
{
    pli_emit_puts(e, "((");
    pli_emit_type(e, n->type);
    pli_emit_puts(e, ")pli_upc_local(");
    pli_emit_expr(e, n->a);
    pli_emit_puts(e, "))");
}

static void address(struct emitter *e, struct node *n)
{
    if (pli_type_is_shared(n->a->type)) {
        pli_emit_access_addr(e, n->a);
        return;
    }
    unary(e, n);
}

void pli_emit_expr(struct emitter *e, struct node *n)
{
    if (!n->upc) {
        pli_emit_range(e, n->t0, n->t1);
        return;
    }
    switch (n->kind) {
    case N_PAREN:
        paren(e, n);
        break;
    case N_INDEX:
        index_private(e, n);
        break;
    case N_CALL:
        call(e, n);
        break;
    case N_MEMBER:
    case N_ARROW:
        member(e, n);
        break;
    case N_POSTFIX:
    case N_PREFIX:
        pli_emit_access_incdec(e, n);
        break;
    case N_ADDR:
        address(e, n);
        break;
    case N_DEREF:
    case N_UNARY:
        unary(e, n);
        break;
    case N_SIZEOF:
    case N_UPCSIZE:
        size_op(e, n);
        break;
    case N_CAST:
        pli_emit_range(e, n->t0, n->a->t0);
        pli_emit_expr(e, n->a);
        break;
    case N_BINARY:
        binary(e, n);
        break;
    case N_COND:
        cond(e, n);
        break;
    case N_ASSIGN:
        pli_emit_access_assign(e, n);
        break;
    case N_COMMA:
        comma(e, n);
        break;
    case N_RVALUE:
        pli_emit_expr(e, n->a);
        break;
    case N_LOAD:
        pli_emit_access_load(e, n);
        break;
    case N_DECAY:
        pli_emit_access_addr(e, n->a);
        break;
    case N_CONV:
        pli_emit_puts(e, n->op ? "pli_upc_resetphase" : "");
        pli_emit_expr_arg(e, n->a);
        break;
    case N_NULL:
        pli_emit_puts(e, "((pli_upc_pts)0)");
        break;
    case N_LOCAL:
        pointer_cast(e, n);
        break;
    case N_IDENT: // a shared object that is not accessed, as in typeof
        pli_emit_puts(e, n->sym->name->text);
        break;
    default:
        pli_emit_range(e, n->t0, n->t1);
    }
}
