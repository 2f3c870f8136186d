// SPDX-License-Identifier: BSD-3-Clause
// Parses declarators, declarations, function definitions and the outermost rule. Declarators read
// inside out, so their derivations are collected first and applied at the end.
#include "parse_decl.h"

#include "constant.h"
#include "parse.h"
#include "parse_expr.h"
#include "parse_init.h"
#include "parse_jump.h"
#include "parse_spec.h"
#include "parse_stmt.h"
#include "scope.h"
#include "sema.h"
#include "sema_decl.h"
#include "type_print.h"

#include <string.h>

enum deriv_kind { D_PTR, D_ARRAY, D_FUNC };

struct deriv {
    struct deriv *next;
    enum deriv_kind kind;
    unsigned quals;
    int64_t block;
    int64_t len;
    bool len_threads, len_bad, len_acts;
    size_t t0, t1;
    struct type *func; // D_FUNC: parameters filled in
};

static struct deriv *make(struct parser *p, enum deriv_kind kind)
{
    struct deriv *d = pli_unit_arena_alloc(&p->u->arena, sizeof *d);
    d->kind = kind;
    d->t0 = p->at;
    return d;
}

// Does computing it do more than that?
static bool has_effect(const struct node *n)
{
    if (n == NULL || n->kind == N_SIZEOF) {
        return false;
    }
    return n->kind == N_CALL || n->kind == N_ASSIGN || n->kind == N_PREFIX ||
           n->kind == N_POSTFIX || (n->kind == N_OPAQUE && !n->is_const) || has_effect(n->a) ||
           has_effect(n->b) || has_effect(n->c);
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
        if (pli_type_is_pts(v->type)) {
            pli_diag_error(p->u, n->tok, "size of array is not an integer");
        }
        int n_threads = 0;
        if (!pli_constant_dim(v, &d->len, &n_threads)) {
            d->len = LEN_VLA;
            d->len_bad = v->has_threads;
            d->len_acts = has_effect(v);
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
    struct param *a = pli_unit_arena_alloc(&p->u->arena, sizeof *a);
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
        struct declarator *d = pli_parse_decl_declarator(p, s.type, true);
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
        struct param *a = pli_unit_arena_alloc(&p->u->arena, sizeof *a);
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
        (*t)->len_acts = d->len_acts;
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

struct declarator *pli_parse_decl_declarator(struct parser *p, struct type *base, bool abstract_ok)
{
    struct declarator *out = pli_unit_arena_alloc(&p->u->arena, sizeof *out);
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

bool pli_parse_decl_starts(struct parser *p)
{
    struct token *t = pli_parse_tok(p);
    // "name :" is a label even where a typedef has that name.
    if (t->kind == TOK_IDENT && t->op == 0 && pli_parse_next_is(p, 1, ':')) {
        return false;
    }
    if (t->op == KW_STATIC_ASSERT) {
        return true;
    }
    if (t->op == KW_EXTENSION && !pli_parse_spec_starts(p, p->at)) {
        return false;
    }
    if (t->op == KW_ATTRIBUTE) { // __attribute__((fallthrough));
        size_t at = p->at;
        p->at++;
        pli_parse_skip_parens(p);
        bool alone = pli_parse_is(p, ';');
        p->at = at;
        return !alone;
    }
    return pli_parse_spec_starts(p, p->at);
}

static void static_assert_decl(struct parser *p)
{
    p->at++;
    pli_parse_expect(p, '(', "'('");
    pli_parse_edit_expr(p, pli_parse_expr_cond(p));
    if (pli_parse_accept(p, ',')) {
        while (pli_parse_tok(p)->kind == TOK_STR) {
            p->at++;
        }
    }
    pli_parse_expect(p, ')', "')'");
    pli_parse_expect(p, ';', "';'");
}

static enum sym_kind kind_of(const struct specs *s, const struct type *t)
{
    return s->storage == ST_TYPEDEF ? SYM_TYPEDEF : t->kind == TY_FUNC ? SYM_FUNC : SYM_VAR;
}

static void check_redeclared(struct parser *p, struct sym *old, const struct type *t, size_t tok)
{
    bool upc = pli_type_is_shared(old->type) || pli_type_is_shared(t) ||
               pli_type_needs_print(old->type) || pli_type_needs_print(t);
    bool same = pli_type_is_shared(old->type) == pli_type_is_shared(t) &&
                pli_type_compat(old->type, t, true);
    if (pli_type_is_shared(t) && same) {
        same = pli_type_block(old->type) == pli_type_block(t);
    }
    if (upc && !same) {
        pli_diag_error(p->u, tok, "conflicting types for '%s': '%s'", old->name->text,
                       pli_type_print_upc(p->u, t));
        pli_diag_note(p->u, old->tok, "previous declaration as '%s'",
                      pli_type_print_upc(p->u, old->type));
    }
}

// Enter a declarator's name; a redeclaration yields the symbol that is there already.
static struct sym *declare(struct parser *p, struct specs *s, struct declarator *d)
{
    struct sym *old = d->name->ids;
    enum sym_kind kind = kind_of(s, d->type);
    bool linked = p->depth == 0 || s->storage == ST_EXTERN || kind == SYM_FUNC;
    if (old != NULL && old->depth == p->depth && old->kind == kind && linked) {
        check_redeclared(p, old, d->type, d->tok);
        if (d->type->kind == TY_ARRAY && d->type->len == LEN_NONE) {
            d->type = old->type;
        }
        if (kind != SYM_TYPEDEF) {
            old->type = d->type;
        }
        old->storage = old->storage == ST_STATIC ? ST_STATIC : s->storage;
        return old;
    }
    if (p->depth == 0 && kind == SYM_FUNC && strcmp(d->name->text, "main") == 0) {
        p->main_type = d->type;
    }
    struct sym *n = pli_scope_add(p, d->name, kind, d->tok);
    n->type = d->type;
    n->storage = s->storage;
    if (kind == SYM_TYPEDEF) {
        n->type = pli_type_copy(p->u, d->type);
        n->type->is_spelled_out = p->depth == 0 && pli_type_is_open(d->type);
        n->type->tdname = n->type->is_spelled_out ? NULL : d->name;
    }
    return n;
}

// Objects of the C library, for programs that declare them by hand.
static bool is_libc_object(const struct name *n)
{
    static const char *const names[] = { "environ",  "optarg",     "optind",   "opterr",
                                         "optopt",   "stdin",      "stdout",   "stderr",
                                         "tzname",   "signgam",    "timezone", "daylight",
                                         "sys_nerr", "sys_errlist" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(n->text, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

// Private objects with static storage belong to their UPC thread, but not those of C libraries.
static bool wants_tls(struct parser *p, const struct specs *s, const struct declarator *d)
{
    bool is_static = p->depth == 0 || s->storage == ST_STATIC || s->storage == ST_EXTERN;
    return p->u->opt.pthreads && is_static && s->storage != ST_TYPEDEF &&
           d->type->kind != TY_FUNC && !pli_type_is_shared(d->type) &&
           !(s->storage == ST_EXTERN && is_libc_object(d->name)) &&
           !p->u->toks[d->tok].src->is_system;
}

static void initialiser(struct parser *p, struct declarator *d, bool is_static)
{
    p->at++;
    d->init0 = p->at;
    pli_parse_init(p, &d->type, is_static, &d->dyn);
    d->init1 = p->at;
    d->has_init = true;
}

static void check_shared_init(struct parser *p, const struct declarator *d)
{
    const struct type *t = d->type;
    if (t->kind != TY_ARRAY) {
        return;
    }
    for (t = t->base; t->kind == TY_ARRAY; t = t->base) {
        if (t->len_threads) {
            pli_diag_error(p->u, d->tok,
                           "initialised shared array with THREADS in an inner "
                           "dimension needs static THREADS");
        }
    }
}

// init-declarator: declarator attributes ("=" initializer)?
// Returns whether the declaration must be rewritten because of it.
static bool init_declarator(struct parser *p, struct specs *s, struct declarator *d)
{
    d->attr0 = p->at;
    pli_parse_spec_attrs(p);
    d->attr1 = p->at;
    if (p->attrs.opaque) {
        d->type = pli_type_basic(p->u, TY_UNKNOWN);
    }
    bool has_init = pli_parse_is(p, '=');
    if (s->storage == ST_EXTERN && has_init && p->depth == 0) {
        s->storage = ST_NONE;
    }
    pli_sema_decl_type(p, d->type, d->tok);
    d->type = pli_sema_decl_object(p, d->type, s, d->tok, has_init);
    pli_sema_decl_lengths(p, d->type, s->storage, d->tok);
    d->sym = declare(p, s, d);
    d->sym->is_tls = s->is_thread || wants_tls(p, s, d);
    bool is_static = p->depth == 0 || s->storage == ST_STATIC;
    p->n_static += s->storage == ST_STATIC;
    if (has_init) {
        bool was_initialised = d->sym->is_initialised;
        initialiser(p, d, is_static);
        if (was_initialised && (pli_type_is_shared(d->type) || d->dyn)) {
            pli_diag_error(p->u, d->tok, "redefinition of '%s'", d->name->text);
        }
        if (pli_type_is_shared(d->type)) {
            d->type = pli_sema_decl_object(p, d->type, s, d->tok, false);
            check_shared_init(p, d);
        }
        d->sym->type = d->type;
        d->sym->is_initialised = true;
    }
    if (p->depth == 0 && s->storage == ST_TYPEDEF && pli_type_is_open(d->type)) {
        return true;
    }
    if (p->depth == 0 && p->u->opt.static_threads == 0 && d->type->kind == TY_ARRAY &&
        !pli_type_is_shared(d->type) && (d->type->len_threads || d->type->len_bad)) {
        pli_diag_error(p->u, d->tok,
                       "size of private array '%s' at file scope depends on THREADS, "
                       "which is dynamic; compile with -T=N",
                       d->name->text);
    }
    return pli_type_needs_print(d->type) || (is_static && d->dyn);
}

// Place __thread where gcc wants it: behind static or extern, else in front.
static void mark_tls(struct parser *p, struct specs *s, bool is_tentative)
{
    struct token *t = &p->u->toks[s->t0];
    if (s->storage == ST_STATIC || s->storage == ST_EXTERN || s->storage_tok > 0) {
        t = &p->u->toks[s->storage_tok];
        t->subst = pli_unit_arena_printf(&p->u->arena, "%.*s __thread", (int)t->len, t->text);
    } else {
        t->prefix = is_tentative ? PLI_EMIT_COMMON_TLS : "__thread";
    }
}

// declaration: declaration-specifiers init-declarator-list? ";"
static struct decl *rest_of_declaration(struct parser *p, struct decl *d, struct declarator *first)
{
    struct declarator **tail = &d->list;
    bool upc = false, tls = false, other = false, is_tentative = p->depth == 0;
    d->at_file_scope = p->depth == 0;
    for (struct declarator *x = first; x != NULL;) {
        upc |= init_declarator(p, &d->specs, x);
        tls |= x->sym->is_tls && !d->specs.is_thread;
        other |= x->sym->kind == SYM_FUNC;
        is_tentative = is_tentative && !x->has_init;
        *tail = x;
        tail = &x->next;
        x = NULL;
        if (pli_parse_accept(p, ',')) {
            pli_parse_spec_attrs(p);
            x = pli_parse_decl_declarator(p, d->specs.type, false);
        }
    }
    pli_parse_expect(p, ';', "';'");
    if (upc || (tls && other)) {
        pli_parse_edit(p, EDIT_DECL, d->specs.t0, p->at)->decl = d;
    } else if (tls) {
        mark_tls(p, &d->specs, is_tentative);
    }
    return d;
}

// declaration-list of an old-style definition
static void old_style_params(struct parser *p, struct type *f)
{
    while (!pli_parse_is(p, '{')) {
        struct decl *d = pli_unit_arena_alloc(&p->u->arena, sizeof *d);
        pli_parse_spec(p, &d->specs);
        if (!d->specs.has_type) {
            pli_parse_expect(p, '{', "a declaration or '{'");
        }
        bool upc = false;
        struct declarator **tail = &d->list;
        do {
            struct declarator *x = pli_parse_decl_declarator(p, d->specs.type, false);
            pli_sema_decl_type(p, x->type, x->tok);
            pli_sema_decl_lengths(p, x->type, ST_STATIC, x->tok);
            if (x->type->kind == TY_ARRAY) {
                x->type = pli_type_ptr(p->u, x->type->base);
            } else if (x->type->kind == TY_FUNC) {
                x->type = pli_type_ptr(p->u, x->type);
            } else if (pli_type_is_shared(x->type)) {
                pli_diag_error(p->u, x->tok, "parameter of shared type");
            }
            for (struct param *a = f->params; a != NULL; a = a->next) {
                if (a->name == x->name) {
                    a->type = x->type;
                }
            }
            upc |= pli_type_needs_print(x->type);
            *tail = x;
            tail = &x->next;
        } while (pli_parse_accept(p, ','));
        pli_parse_expect(p, ';', "';'");
        if (upc) {
            pli_parse_edit(p, EDIT_DECL, d->specs.t0, p->at)->decl = d;
        }
    }
}

// __func__ and its GNU spellings, known in every function body
static void declare_func_name(struct parser *p, size_t tok)
{
    static const char *const names[] = { "__func__", "__FUNCTION__", "__PRETTY_FUNCTION__" };
    for (int i = 0; i < 3; i++) {
        struct name *n = pli_lex_name(p->u, names[i], strlen(names[i]));
        struct sym *s = pli_scope_add(p, n, SYM_VAR, tok);
        s->type = pli_type_array(p->u, pli_type_basic(p->u, TY_CHAR), 64, false);
    }
}

// Lengths of shared arrays that parameters point to are computed once, where the body begins.
static void name_lengths(struct parser *p, struct decl *d, struct declarator *f)
{
    int before = p->n_len;
    for (struct param *a = f->type->params; a != NULL; a = a->next) {
        pli_sema_decl_lengths(p, a->type, ST_NONE, a->tok);
    }
    if (p->n_len != before) {
        d->list = f;
        pli_parse_edit(p, EDIT_LENGTHS, p->at, p->at + 1)->decl = d;
    }
}

// function-definition: declaration-specifiers declarator declaration-list? compound-statement
static void function_definition(struct parser *p, struct decl *d, struct declarator *f)
{
    pli_sema_decl_type(p, f->type, f->tok);
    f->sym = declare(p, &d->specs, f);
    f->sym->is_defined = true;
    if (p->depth == 0 && strcmp(f->name->text, "main") == 0) {
        p->has_main = true;
        p->main_type = f->type;
    }
    if (f->type->is_oldstyle) {
        pli_scope_push(p);
        old_style_params(p, f->type);
        pli_scope_pop(p);
    } else if (pli_type_needs_print(f->type)) {
        d->list = f;
        pli_parse_edit(p, EDIT_FUNC, d->specs.t0, p->at)->decl = d;
    }
    if (f->type->is_oldstyle && pli_type_needs_print(f->type->base)) {
        d->list = f;
        pli_parse_edit(p, EDIT_FUNC, d->specs.t0, f->t1)->decl = d;
    }
    pli_scope_push(p);
    name_lengths(p, d, f);
    for (struct param *a = f->type->params; a != NULL; a = a->next) {
        if (a->name != NULL) {
            struct sym *s = pli_scope_add(p, a->name, SYM_VAR, a->tok);
            s->type = a->type;
            s->is_param = true;
        }
    }
    declare_func_name(p, f->tok);
    p->fn = f->sym;
    p->fn_depth = p->depth;
    p->ret = f->type->base;
    pli_parse_stmt_compound(p, false);
    pli_parse_jump_check(p);
    p->fn = NULL;
    pli_scope_pop(p);
}

// Whether the body of a function, or its old-style parameters, follows a declarator.
static bool is_definition(struct parser *p, const struct declarator *f)
{
    if (f->type->kind != TY_FUNC || f->name == NULL) {
        return false;
    }
    return pli_parse_is(p, '{') || (f->type->is_oldstyle && pli_parse_spec_starts(p, p->at) &&
                                    !pli_parse_is(p, KW_ATTRIBUTE));
}

// A function in a function, a GNU extension. What is known about the outer one comes back after it.
static void nested_function(struct parser *p, struct decl *d, struct declarator *f)
{
    struct parser outer = *p;
    p->forall = NULL;
    p->jumps = NULL;
    p->n_controlling = p->n_loop = p->n_switch = 0;
    function_definition(p, d, f);
    p->fn = outer.fn;
    p->fn_depth = outer.fn_depth;
    p->ret = outer.ret;
    p->forall = outer.forall;
    p->jumps = outer.jumps;
    p->n_controlling = outer.n_controlling;
    p->n_loop = outer.n_loop;
    p->n_switch = outer.n_switch;
    p->has_forall_break = outer.has_forall_break;
    p->n_static++; // a body with one in it is not printed twice
}

// "int shared;" declares nothing, which the author may not know.
static bool is_empty(struct parser *p, const struct specs *s, size_t t0)
{
    if (!pli_parse_accept(p, ';')) {
        return false;
    }
    for (size_t i = t0; i < p->at && s->type != NULL && (s->type->quals & Q_UPC) != 0; i++) {
        const struct token *t = &p->u->toks[i];
        if (t->op == KW_SHARED || t->op == KW_STRICT || t->op == KW_RELAXED) {
            pli_diag_warn(p->u, i,
                          "'%.*s' in an empty declaration; it is a word of UPC, not a name",
                          (int)t->len, t->text);
            break;
        }
    }
    return true;
}

struct decl *pli_parse_decl_block(struct parser *p)
{
    if (pli_parse_is(p, KW_STATIC_ASSERT)) {
        static_assert_decl(p);
        return NULL;
    }
    struct decl *d = pli_unit_arena_alloc(&p->u->arena, sizeof *d);
    p->attrs = (struct attrs){ 0 };
    size_t t0 = p->at;
    pli_parse_spec(p, &d->specs);
    if (is_empty(p, &d->specs, t0)) {
        return d;
    }
    struct declarator *first = pli_parse_decl_declarator(p, d->specs.type, false);
    if (is_definition(p, first)) {
        nested_function(p, d, first);
        return NULL;
    }
    return rest_of_declaration(p, d, first);
}

// external-declaration: function-definition | declaration | asm-definition
static void external_declaration(struct parser *p)
{
    if (pli_parse_accept(p, ';')) {
        return;
    }
    if (pli_parse_is(p, KW_STATIC_ASSERT)) {
        static_assert_decl(p);
        return;
    }
    if (pli_parse_is(p, KW_ASM)) {
        p->at++;
        pli_parse_skip_parens(p);
        pli_parse_expect(p, ';', "';'");
        return;
    }
    struct decl *d = pli_unit_arena_alloc(&p->u->arena, sizeof *d);
    p->attrs = (struct attrs){ 0 };
    size_t t0 = p->at;
    pli_parse_spec(p, &d->specs);
    if (is_empty(p, &d->specs, t0)) {
        return;
    }
    if (p->at == t0 && (pli_parse_tok(p)->kind != TOK_IDENT || pli_parse_tok(p)->op != 0)) {
        struct token *t = pli_parse_tok(p);
        pli_diag_fatal(p->u, p->at, "expected a declaration before '%.*s'", (int)t->len, t->text);
    }
    struct token *first = pli_parse_tok(p);
    if (!d->specs.has_type && first->kind == TOK_IDENT && first->name->ids == NULL &&
        (first[1].kind == TOK_IDENT || first[1].op == '*')) {
        bool is_upc = first->len > 4 && strncmp(first->text, "upc_", 4) == 0;
        pli_diag_fatal(p->u, p->at, "unknown type name '%.*s'%s", (int)first->len, first->text,
                       is_upc ? "; is a header of UPC missing?" : "");
    }
    struct declarator *f = pli_parse_decl_declarator(p, d->specs.type, false);
    if (is_definition(p, f)) {
        function_definition(p, d, f);
        return;
    }
    rest_of_declaration(p, d, f);
}

// translation-unit: external-declaration*
void pli_parse_decl_unit(struct parser *p)
{
    pli_scope_push(p);
    p->depth = 0;
    pli_scope_builtin(p);
    for (;;) {
        pli_parse_pragma(p);
        if (pli_parse_tok(p)->kind == TOK_EOF) {
            break;
        }
        pli_parse_tok(p)->starts_external = true;
        external_declaration(p);
    }
}
