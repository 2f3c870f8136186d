// SPDX-License-Identifier: BSD-3-Clause
// Declarators. They read inside out, so the derivations are collected first and applied at the end.
#include "parse.h"

enum deriv_kind { D_PTR, D_ARRAY, D_FUNC };

struct deriv {
    struct deriv *next;
    enum deriv_kind kind;
    unsigned quals;
    int64_t block;
    int64_t len;
    bool len_threads, len_bad;
    size_t t0, t1;
    struct type *func; // D_FUNC: parameters filled in
};

static struct deriv *make(struct parser *p, enum deriv_kind kind)
{
    struct deriv *d = pli_arena_alloc(&p->u->arena, sizeof *d);
    d->kind = kind;
    d->t0 = p->at;
    return d;
}

// array-suffix: "[" ("static" | qualifier)* (assignment-expression | "*")? "]"
static struct deriv *array_suffix(struct parser *p)
{
    struct deriv *d = make(p, D_ARRAY);
    p->at++;
    size_t ignored;
    unsigned q = 0;
    int64_t b = BLOCK_PLAIN;
    while (pli_parse_accept(p, KW_STATIC) || pli_parse_is(p, KW_CONST) ||
           pli_parse_is(p, KW_RESTRICT) || pli_parse_is(p, KW_VOLATILE)) {
        pli_parse_spec_quals(p, &q, &b, &ignored);
    }
    d->quals = q;
    d->t0 = p->at;
    d->len = LEN_NONE;
    if (pli_parse_is(p, '*') && pli_parse_next_is(p, 1, ']')) {
        p->at++;
        d->len = LEN_VLA;
    } else if (!pli_parse_is(p, ']')) {
        struct node *n = pli_parse_expr_assign(p);
        struct node *v = pli_sema_rvalue(p, n);
        pli_parse_edit_expr(p, v);
        int n_threads = 0;
        if (!pli_constant_dim(v, &d->len, &n_threads)) {
            d->len = LEN_VLA;
            d->len_bad = v->has_threads;
        } else if (n_threads > 1 || (n_threads > 0 && d->len <= 0)) {
            d->len_bad = true;
        } else if (d->len < 0) {
            if (!pli_type_is_unsigned(v->type)) {
                pli_diag_error(p->u, n->tok, "size of array is negative");
            }
            d->len = 1;
        }
        d->len_threads = n_threads > 0;
    }
    d->t1 = p->at;
    pli_parse_expect(p, ']', "']'");
    return d;
}

static struct param *add_param(struct parser *p, struct declarator *d, struct param ***tail)
{
    struct param *a = pli_arena_alloc(&p->u->arena, sizeof *a);
    a->name = d->name;
    a->tok = d->tok;
    struct type *t = d->type;
    if (t->kind == TY_ARRAY) {
        // Its own length may be anything; the rest of the type must be right as a pointer's too.
        bool is_odd = t->len == LEN_VLA || pli_type_block(t) == BLOCK_STAR;
        struct type *adjusted = pli_type_ptr(p->u, t->base);
        adjusted->is_spelled_out = t->is_spelled_out;
        pli_sema_decl_type(p, is_odd ? adjusted : t, d->tok);
        t = adjusted;
    } else {
        pli_sema_decl_type(p, t, d->tok);
    }
    if (t->kind == TY_FUNC) {
        t = pli_type_ptr(p->u, t);
    } else if ((t->quals & Q_SHARED) != 0) {
        pli_diag_error(p->u, d->tok, "parameter of shared type '%s'", pli_type_print_upc(p->u, t));
        t = pli_type_strip(p->u, t, Q_UPC);
    }
    a->type = t;
    **tail = a;
    *tail = &a->next;
    return a;
}

static void declare_param(struct parser *p, struct param *a)
{
    if (a->name != NULL) {
        struct sym *s = pli_scope_add(p, a->name, SYM_VAR, a->tok);
        s->type = a->type;
        s->is_param = true;
    }
}

// parameter-type-list: parameter-declaration ("," parameter-declaration)* ("," "...")?
static void prototype(struct parser *p, struct type *f)
{
    struct param **tail = &f->params;
    if (pli_parse_is(p, KW_VOID) && pli_parse_next_is(p, 1, ')')) {
        p->at += 2;
        return;
    }
    pli_scope_push(p); // later parameters may use earlier ones in array lengths
    for (;;) {
        if (pli_parse_accept(p, P_ELLIPSIS)) {
            f->is_variadic = true;
            break;
        }
        struct specs s;
        size_t t0 = p->at;
        struct attrs saved = p->attrs;
        pli_parse_spec(p, &s);
        if (!s.has_type && s.t0 == s.t1) {
            struct token *t = pli_parse_tok(p);
            pli_diag_fatal(p->u, p->at, "expected a parameter before '%.*s'", (int)t->len, t->text);
        }
        struct declarator *d = pli_parse_dtor(p, s.type, true);
        pli_parse_spec_attrs(p);
        p->attrs = saved;
        struct param *a = add_param(p, d, &tail);
        declare_param(p, a);
        a->t0 = t0;
        a->t1 = p->at;
        if (!pli_parse_accept(p, ',')) {
            break;
        }
    }
    pli_scope_pop(p);
    pli_parse_expect(p, ')', "')'");
}

// identifier-list of an old-style function definition
static void identifier_list(struct parser *p, struct type *f)
{
    f->is_oldstyle = true;
    struct param **tail = &f->params;
    while (pli_parse_tok(p)->kind == TOK_IDENT) {
        struct param *a = pli_arena_alloc(&p->u->arena, sizeof *a);
        a->name = pli_parse_tok(p)->name;
        a->tok = a->t0 = p->at++;
        a->t1 = p->at;
        a->type = pli_type_basic(p->u, TY_INT);
        *tail = a;
        tail = &a->next;
        if (!pli_parse_accept(p, ',')) {
            break;
        }
    }
    pli_parse_expect(p, ')', "')'");
}

static struct deriv *func_suffix(struct parser *p)
{
    struct deriv *d = make(p, D_FUNC);
    p->at++;
    d->func = pli_type_func(p->u, NULL);
    struct token *t = pli_parse_tok(p);
    bool plain_name =
        t->kind == TOK_IDENT && t->op == 0 && t->name->ids != NULL
            ? t->name->ids->kind != SYM_TYPEDEF
            : t->kind == TOK_IDENT && t->op == 0 && (t[1].op == ',' || t[1].op == ')');
    if (pli_parse_is(p, ')')) {
        d->func->is_oldstyle = true;
        p->at++;
    } else if (plain_name &&
               !(t->len > 2 && t->text[0] == '_' && t->text[1] == '_' && t->name->ids == NULL)) {
        identifier_list(p, d->func);
    } else {
        prototype(p, d->func);
    }
    return d;
}

static void apply(struct parser *p, struct type **t, struct deriv *d)
{
    switch (d->kind) {
    case D_PTR:
        *t = pli_type_qualify(p->u, pli_type_ptr(p->u, *t), d->quals, d->block);
        break;
    case D_ARRAY:
        *t = pli_type_array(p->u, *t, d->len, d->len_threads);
        (*t)->len_t0 = d->t0;
        (*t)->len_t1 = d->t1;
        (*t)->len_bad = d->len_bad;
        break;
    case D_FUNC:
        d->func->base = *t;
        *t = d->func;
        break;
    }
}

static void append(struct deriv **list, struct deriv *d)
{
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = d;
}

// Is the "(" ahead the start of a nested declarator rather than of parameters?
static bool is_nested(struct parser *p, bool abstract_ok)
{
    if (!pli_parse_is(p, '(')) {
        return false;
    }
    if (!abstract_ok) {
        return true;
    }
    int op = p->u->toks[p->at + 1].op;
    if (op == '*' || op == '(' || op == '[' || op == '^') {
        return true;
    }
    if (op == KW_ATTRIBUTE) {
        return true;
    }
    const struct token *t = &p->u->toks[p->at + 1];
    return t->kind == TOK_IDENT && op == 0 && !pli_parse_spec_starts(p, p->at + 1) &&
           !(t->len > 2 && t->text[0] == '_' && t->text[1] == '_' && t->name->ids == NULL &&
             t[1].op != '(' && t[1].op != '[');
}

// declarator: pointer? direct-declarator
// Adds its derivations to list, in the order they apply to the base type.
static void declarator(struct parser *p, struct declarator *out, bool abstract_ok,
                       struct deriv **list)
{
    pli_parse_enter(p);
    while (pli_parse_is(p, '*') || pli_parse_is(p, KW_ATTRIBUTE)) {
        if (pli_parse_is(p, KW_ATTRIBUTE)) {
            pli_parse_spec_attrs(p);
            continue;
        }
        struct deriv *d = make(p, D_PTR);
        p->at++;
        size_t tok;
        d->block = BLOCK_PLAIN;
        pli_parse_spec_quals(p, &d->quals, &d->block, &tok);
        append(list, d);
    }
    struct deriv *inner = NULL;
    struct token *t = pli_parse_tok(p);
    if (is_nested(p, abstract_ok)) {
        p->at++;
        declarator(p, out, abstract_ok, &inner);
        pli_parse_expect(p, ')', "')'");
    } else if (t->kind == TOK_IDENT && t->op == 0) {
        out->name = t->name;
        out->tok = p->at++;
    } else if (!abstract_ok) {
        pli_diag_fatal(p->u, p->at, "expected a name before '%.*s'", (int)t->len, t->text);
    }
    struct deriv *suffixes = NULL; // last one first
    for (;;) {
        struct deriv *d;
        if (pli_parse_is(p, '[')) {
            d = array_suffix(p);
        } else if (pli_parse_is(p, '(')) {
            d = func_suffix(p);
        } else {
            break;
        }
        d->next = suffixes;
        suffixes = d;
    }
    append(list, suffixes);
    append(list, inner);
    pli_parse_leave(p);
}

struct declarator *pli_parse_dtor(struct parser *p, struct type *base, bool abstract_ok)
{
    struct declarator *out = pli_arena_alloc(&p->u->arena, sizeof *out);
    out->t0 = out->tok = p->at;
    struct deriv *list = NULL;
    declarator(p, out, abstract_ok, &list);
    out->t1 = p->at;
    out->type = base;
    for (struct deriv *d = list; d != NULL; d = d->next) {
        apply(p, &out->type, d);
    }
    return out;
}
