// SPDX-License-Identifier: BSD-3-Clause
// Parses expressions, from the comma operator down to primary expressions, and the size operators.
#include "parse_expr.h"

#include "constant.h"
#include "layout.h"
#include "parse.h"
#include "parse_init.h"
#include "parse_spec.h"
#include "parse_stmt.h"
#include "scope.h"
#include "sema.h"
#include "sema_binary.h"
#include "sema_decl.h"
#include "type_print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct node *cast_expr(struct parser *p);

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
static struct node *size_operator(struct parser *p)
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
            pli_parse_init(p, &t, false, &dyn);
        }
    } else {
        struct node *e = cast_expr(p);
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

static enum type_kind float_kind(const struct token *t)
{
    for (unsigned i = t->len; i-- > 0;) {
        switch (t->text[i]) {
        case 'f':
        case 'F':
            return TY_FLOAT;
        case 'l':
        case 'L':
            return TY_LDOUBLE;
        case 'q':
        case 'Q':
            return TY_FLOAT128;
        default:
            return TY_DOUBLE;
        }
    }
    return TY_DOUBLE;
}

static bool is_float_text(const struct token *t)
{
    bool hex = t->len > 1 && t->text[0] == '0' && (t->text[1] | 32) == 'x';
    for (unsigned i = 0; i < t->len; i++) {
        char c = (char)(t->text[i] | 32);
        if (t->text[i] == '.' || (hex ? c == 'p' : c == 'e')) {
            return true;
        }
    }
    return false;
}

static struct node *int_number(struct parser *p, struct node *n, const struct token *t)
{
    char buf[80];
    size_t len = t->len < sizeof buf - 1 ? t->len : sizeof buf - 1;
    memcpy(buf, t->text, len);
    buf[len] = '\0';
    char *end;
    bool binary = buf[0] == '0' && (buf[1] | 32) == 'b';
    uint64_t v = strtoull(binary ? buf + 2 : buf, &end, binary ? 2 : 0);
    bool decimal = buf[0] != '0';
    bool uns = false;
    int longs = 0;
    for (; *end != '\0'; end++) {
        uns |= (*end | 32) == 'u';
        longs += (*end | 32) == 'l';
    }
    enum type_kind k = longs == 2 ? TY_LLONG : longs == 1 ? TY_LONG : TY_INT;
    if (k == TY_INT && v > INT32_MAX) {
        k = (uns || !decimal) && v <= UINT32_MAX ? TY_UINT : TY_LONG;
    }
    if (k != TY_UINT && (uns || (v > INT64_MAX && !decimal))) {
        k = k == TY_INT ? TY_UINT : k == TY_LONG ? TY_ULONG : TY_ULLONG;
    }
    n->type = pli_type_basic(p->u, k);
    n->is_const = true;
    n->value = (int64_t)v;
    return n;
}

// The value of a character constant, wide or not.
static int64_t char_value(const struct token *t)
{
    const char *s = t->text, *end = t->text + t->len;
    while (s < end && *s != '\'') {
        s++;
    }
    s++;
    if (s >= end) {
        return 0;
    }
    if (*s != '\\' || s + 1 >= end) {
        return (char)*s;
    }
    s++;
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    if (*s >= '0' && *s <= '7') {
        return (char)strtol(s, NULL, 8);
    }
    if (*s == 'x' || *s == 'u' || *s == 'U') {
        return (int64_t)strtoul(s + 1, NULL, 16);
    }
    const char *at = strchr(from, *s);
    return *s == 'e' ? 27 : at != NULL && *at != '\0' ? to[at - from] : *s;
}

static struct node *constant(struct parser *p)
{
    size_t t0 = p->at++;
    const struct token *t = &p->u->toks[t0];
    struct node *n = pli_sema_node(p, N_NUM, t0);
    if (t->kind == TOK_CHAR) {
        n->type = pli_type_basic(p->u, TY_INT);
        n->is_const = true;
        n->value = char_value(t);
        return n;
    }
    char last = (char)(t->text[t->len - 1] | 32);
    if (last == 'i' || last == 'j') { // imaginary
        n->type = pli_type_basic(p->u, TY_COMPLEX);
        n->type->base = pli_type_basic(p->u, TY_DOUBLE);
        return n;
    }
    if (is_float_text(t)) {
        n->type = pli_type_basic(p->u, float_kind(t));
        return n;
    }
    return int_number(p, n, t);
}

// string-literal+ : neighbours are joined
static struct node *string(struct parser *p)
{
    size_t t0 = p->at;
    int64_t len = 1;
    enum type_kind k = TY_CHAR;
    for (; pli_parse_tok(p)->kind == TOK_STR; p->at++) {
        const struct token *t = pli_parse_tok(p);
        if (t->text[0] == 'L') {
            k = TY_INT;
        } else if (t->text[0] == 'U') {
            k = TY_UINT;
        } else if (t->text[0] == 'u' && t->text[1] == '"') {
            k = TY_USHORT;
        }
        const char *s = memchr(t->text, '"', t->len);
        const char *end = t->text + t->len - 1;
        for (s++; s < end; s++, len++) {
            if (*s != '\\') {
                continue;
            }
            s++;
            if (*s == 'x') {
                while (s + 1 < end && isxdigit((unsigned char)s[1])) {
                    s++;
                }
            } else {
                for (int d = 1; d < 3 && s[0] >= '0' && s[0] <= '7' && s + 1 < end && s[1] >= '0' &&
                                s[1] <= '7';
                     d++) {
                    s++;
                }
            }
        }
    }
    struct node *n = pli_sema_node(p, N_STR, t0);
    n->type = pli_type_array(p->u, pli_type_basic(p->u, k), len, false);
    n->is_lvalue = true;
    return n;
}

static struct node *identifier(struct parser *p)
{
    size_t t0 = p->at++;
    struct token *t = &p->u->toks[t0];
    struct node *n = pli_sema_node(p, N_IDENT, t0);
    n->sym = t->name->ids;
    n->type = pli_type_basic(p->u, TY_UNKNOWN);
    if (n->sym == NULL) {
        if (pli_parse_is(p, '(') && strncmp(t->name->text, "__", 2) != 0) {
            n->type = pli_type_func(p->u, pli_type_basic(p->u, TY_INT)); // implicit declaration
            n->type->is_oldstyle = true;
        } else if (strncmp(t->name->text, "__", 2) != 0 && !t->src->is_system) {
            pli_diag_error(p->u, t0, "'%s' undeclared", t->name->text);
            pli_scope_add(p, t->name, SYM_VAR, t0)->type = n->type; // say it once
        }
        return n;
    }
    n->type = n->sym->type;
    if (n->sym->kind == SYM_ENUMCONST) {
        return n;
    }
    n->is_lvalue = n->sym->kind == SYM_VAR;
    if (n->sym->kind == SYM_VAR && pli_type_is_shared(n->type)) {
        n->upc = true;
        n->dyn = true;
    }
    n->dyn |= n->sym->is_tls && n->type->kind == TY_ARRAY;
    return n;
}

static struct node *threads_word(struct parser *p)
{
    struct token *t = pli_parse_tok(p);
    int op = t->op;
    size_t t0 = p->at++;
    struct node *n = pli_sema_node(p, op == KW_MYTHREAD ? N_MYTHREAD : N_THREADS, t0);
    n->type = pli_type_basic(p->u, TY_INT);
    if (op == KW_MYTHREAD) {
        n->dyn = true;
        return n;
    }
    if (op == KW_MAX_BLOCK_SIZE) {
        n->kind = N_NUM;
        n->is_const = true;
        n->value = UPC_MAX_BLOCK;
        return n;
    }
    n->has_threads = true;
    n->dyn = n->has_threads && p->u->opt.static_threads == 0;
    n->is_const = p->u->opt.static_threads > 0;
    n->value = p->u->opt.static_threads;
    return n;
}

// statement-expression: "(" compound-statement ")", a GNU extension
static struct node *statement_expr(struct parser *p)
{
    size_t t0 = p->at++;
    struct node *last = NULL;
    if (p->depth == 0) {
        pli_diag_error(p->u, t0, "braced-group within expression allowed only inside a function");
    }
    pli_parse_stmt_value(p, &last);
    pli_parse_expect(p, ')', "')'");
    struct node *n = pli_sema_node(p, N_OPAQUE, t0);
    n->dyn = true;
    n->type = last == NULL ? pli_type_basic(p->u, TY_VOID) : last->type;
    return n;
}

// generic-selection: "_Generic" "(" assignment-expression ("," association)+ ")"
// association: (type-name | "default") ":" assignment-expression
static struct node *generic(struct parser *p)
{
    size_t t0 = p->at++;
    pli_parse_expect(p, '(', "'('");
    p->unevaluated++;
    struct node *c = pli_sema_rvalue(p, pli_parse_expr_assign(p));
    p->unevaluated--;
    struct node *pick = NULL, *fallback = NULL;
    bool has_pts = pli_type_is_pts(c->type); // all of which are one type in C
    while (pli_parse_accept(p, ',')) {
        struct type *type = NULL;
        size_t n0, n1;
        if (!pli_parse_accept(p, KW_DEFAULT)) {
            type = pli_parse_spec_type_name(p, &n0, &n1);
        }
        pli_parse_expect(p, ':', "':'");
        struct node *e = pli_parse_expr_assign(p);
        if (type == NULL) {
            fallback = e;
            continue;
        }
        has_pts |= pli_type_is_pts(type);
        if (pick == NULL && pli_type_compat(type, c->type, true)) {
            pick = e;
        }
    }
    pli_parse_expect(p, ')', "')'");
    pick = pick == NULL ? fallback : pick;
    if (pick == NULL && has_pts) {
        pli_diag_error(p->u, c->tok, "'_Generic' has no association for type '%s'",
                       pli_type_print_upc(p->u, c->type));
    }
    struct node *n = pli_sema_node(p, N_OPAQUE, t0);
    n->type = pick == NULL ? pli_type_basic(p->u, TY_UNKNOWN) : pick->type;
    if (pick != NULL && (c->upc || pick->upc || has_pts)) {
        n->kind = N_PAREN; // only the chosen branch is printed
        n->a = pick;
        n->upc = true;
        n->is_lvalue = pick->is_lvalue;
        pli_sema_inherit(n, pick);
    }
    return n;
}

// offsetof-expression: "__builtin_offsetof" "(" type-name "," member-designator ")"
static struct node *offset_of(struct parser *p)
{
    size_t t0 = p->at++, n0, n1;
    pli_parse_expect(p, '(', "'('");
    struct type *t = pli_parse_spec_type_name(p, &n0, &n1);
    pli_parse_expect(p, ',', "','");
    struct node *n = pli_sema_node(p, N_OPAQUE, t0);
    bool simple = pli_parse_next_is(p, 1, ')') && (t->kind == TY_STRUCT || t->kind == TY_UNION);
    if (simple && pli_parse_tok(p)->name != NULL && t->rec->size >= 0) {
        n->value = pli_layout_offset(t->rec, pli_parse_tok(p)->name);
        n->is_const = n->value >= 0;
    }
    int depth = 1;
    while (depth > 0) {
        if (pli_parse_is(p, '[')) {
            p->at++;
            struct node *i = pli_sema_rvalue(p, pli_parse_expr_comma(p));
            pli_parse_edit_expr(p, i);
            pli_parse_expect(p, ']', "']'");
            continue;
        }
        if (pli_parse_tok(p)->kind == TOK_EOF) {
            pli_parse_expect(p, ')', "')'");
        }
        depth -= pli_parse_is(p, ')');
        p->at++;
    }
    n->t1 = p->at;
    n->type = pli_type_basic(p->u, TY_ULONG);
    return n;
}

static bool has_shared(const struct type *t)
{
    for (; t != NULL && (t->quals & Q_SHARED) == 0; t = t->base) {
        for (const struct param *q = t->params; q != NULL; q = q->next) {
            if (has_shared(q->type)) {
                return true;
            }
        }
    }
    return t != NULL;
}

// types-compatible: "__builtin_types_compatible_p" "(" type-name "," type-name ")". In C all
// pointers-to-shared are one type.
static struct node *types_compatible(struct parser *p, size_t t0)
{
    size_t n0, n1;
    struct type *a = pli_parse_spec_type_name(p, &n0, &n1);
    pli_parse_expect(p, ',', "','");
    struct type *b = pli_parse_spec_type_name(p, &n0, &n1);
    pli_parse_expect(p, ')', "')'");
    bool is_ours = has_shared(a) || has_shared(b);
    struct node *n = pli_sema_node(p, is_ours ? N_UPCSIZE : N_OPAQUE, t0);
    n->op = KW_TYPES_COMPATIBLE;
    n->type = pli_type_basic(p->u, TY_INT);
    n->upc = n->is_const = is_ours;
    n->dyn = !is_ours;
    n->value = pli_type_compat(a, b, false);
    return n;
}

// Built-ins that take types: va_arg, types_compatible_p and choose_expr.
static struct node *type_builtin(struct parser *p)
{
    size_t t0 = p->at++, n0, n1;
    int op = p->u->toks[t0].op;
    struct type *t = pli_type_basic(p->u, TY_INT);
    pli_parse_expect(p, '(', "'('");
    if (op == KW_VA_ARG) {
        pli_parse_edit_expr(p, pli_parse_expr_assign(p));
        pli_parse_expect(p, ',', "','");
        t = pli_parse_spec_type_name(p, &n0, &n1);
    } else if (op == KW_TYPES_COMPATIBLE) {
        return types_compatible(p, t0);
    } else {
        int64_t v = 1;
        struct node *c = pli_parse_expr_assign(p);
        pli_parse_edit_expr(p, c);
        pli_constant_eval(c, &v);
        pli_parse_expect(p, ',', "','");
        struct node *a = pli_sema_rvalue(p, pli_parse_expr_assign(p));
        pli_parse_edit_expr(p, a);
        pli_parse_expect(p, ',', "','");
        struct node *b = pli_sema_rvalue(p, pli_parse_expr_assign(p));
        pli_parse_edit_expr(p, b);
        t = v != 0 ? a->type : b->type;
    }
    pli_parse_expect(p, ')', "')'");
    struct node *n = pli_sema_node(p, N_OPAQUE, t0);
    n->type = t;
    n->dyn = true;
    return n;
}

// assert-type: "pli_upc_assert_type" "(" assignment-expression "," type-name ")"; a macro makes it
// ((void)0) in the C text.
static struct node *assert_type(struct parser *p)
{
    size_t t0 = p->at++, n0, n1;
    pli_parse_expect(p, '(', "'('");
    struct node *e = pli_parse_expr_assign(p);
    pli_parse_expect(p, ',', "','");
    struct type *t = pli_parse_spec_type_name(p, &n0, &n1);
    if (!pli_type_compat(e->type, t, true)) {
        pli_diag_error(p->u, e->tok, "bupc_assert_type: the type is '%s', not '%s'",
                       pli_type_print_upc(p->u, e->type), pli_type_print_upc(p->u, t));
    }
    pli_parse_expect(p, ')', "')'");
    struct node *n = pli_sema_node(p, N_OPAQUE, t0);
    n->type = pli_type_basic(p->u, TY_VOID);
    n->dyn = true;
    return n;
}

static struct node *paren(struct parser *p)
{
    if (pli_parse_next_is(p, 1, '{')) {
        return statement_expr(p);
    }
    size_t t0 = p->at++;
    struct node *a = pli_parse_expr_comma(p);
    pli_parse_expect(p, ')', "')'");
    struct node *n = pli_sema_node(p, N_PAREN, t0);
    n->tok = a->tok;
    n->a = a;
    n->type = a->type;
    n->is_lvalue = a->is_lvalue;
    pli_sema_inherit(n, a);
    return n;
}

// primary-expression: identifier | constant | string | "(" expression ")" | generic-selection
static struct node *primary(struct parser *p)
{
    struct token *t = pli_parse_tok(p);
    switch (t->op) {
    case '(':
        return paren(p);
    case KW_THREADS:
    case KW_MYTHREAD:
    case KW_MAX_BLOCK_SIZE:
        return threads_word(p);
    case KW_GENERIC:
        return generic(p);
    case KW_OFFSETOF:
        return offset_of(p);
    case KW_ASSERT_TYPE:
        return assert_type(p);
    case KW_VA_ARG:
    case KW_TYPES_COMPATIBLE:
    case KW_CHOOSE_EXPR:
        return type_builtin(p);
    default:
        break;
    }
    if (t->kind == TOK_NUM || t->kind == TOK_CHAR) {
        return constant(p);
    }
    if (t->kind == TOK_STR) {
        return string(p);
    }
    if (t->kind == TOK_IDENT && t->op == 0) {
        return identifier(p);
    }
    if (t->kind == TOK_EOF) {
        pli_diag_fatal(p->u, p->at, "expected an expression at end of input");
    }
    pli_diag_fatal(p->u, p->at, "expected an expression before '%.*s'", (int)t->len, t->text);
}

static struct node *call(struct parser *p, struct node *f)
{
    size_t tok = p->at++;
    struct node *args = NULL, **tail = &args;
    while (!pli_parse_is(p, ')')) {
        struct node *a;
        if (pli_parse_spec_starts(p, p->at)) { // built-ins such as __builtin_has_attribute
            size_t n0, n1;
            pli_parse_spec_type_name(p, &n0, &n1);
            a = pli_sema_node(p, N_OPAQUE, n0);
            a->type = pli_type_basic(p->u, TY_UNKNOWN);
        } else {
            a = pli_parse_expr_assign(p);
        }
        *tail = a;
        tail = &a->next;
        if (!pli_parse_accept(p, ',')) {
            break;
        }
    }
    pli_parse_expect(p, ')', "')'");
    return pli_sema_call(p, f, args, tok);
}

static struct node *suffixes(struct parser *p, struct node *n)
{
    for (;;) {
        size_t tok = p->at;
        switch (pli_parse_tok(p)->op) {
        case '[': {
            p->at++;
            struct node *i = pli_parse_expr_comma(p);
            pli_parse_expect(p, ']', "']'");
            n = pli_sema_index(p, n, i, tok);
            break;
        }
        case '(':
            n = call(p, n);
            break;
        case '.':
        case P_ARROW: {
            bool arrow = pli_parse_is(p, P_ARROW);
            p->at++;
            if (pli_parse_tok(p)->kind != TOK_IDENT) {
                pli_diag_fatal(p->u, p->at, "expected a member name");
            }
            struct name *name = pli_parse_tok(p)->name;
            size_t at = p->at++;
            n = pli_sema_member(p, n, name, arrow, at);
            break;
        }
        case P_INC:
        case P_DEC: {
            int op = pli_parse_tok(p)->op;
            p->at++;
            n = pli_sema_incdec(p, n, op, false, tok);
            break;
        }
        default:
            return n;
        }
    }
}

// postfix-expression: primary-expression suffix*
static struct node *postfix(struct parser *p)
{
    return suffixes(p, primary(p));
}

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
    struct node *n = cast_expr(p);
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
    pli_parse_init(p, &type, p->depth == 0 && p->unevaluated == 0, &dyn);
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
    struct node *a = cast_expr(p);
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
    struct node *a = cast_expr(p);
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
        return suffixes(p, compound_literal(p, t0, type));
    }
    struct node *a = cast_expr(p);
    return pli_sema_cast(p, type, a, t0);
}

static struct node *extension(struct parser *p)
{
    size_t t0 = p->at++;
    struct node *a = cast_expr(p);
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
static struct node *cast_expr(struct parser *p)
{
    pli_parse_enter(p);
    struct node *n;
    switch (pli_parse_tok(p)->op) {
    case '(':
        n = pli_parse_spec_starts(p, p->at + 1) ? paren_type(p) : postfix(p);
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
        n = size_operator(p);
        break;
    case KW_EXTENSION:
        n = extension(p);
        break;
    case KW_REAL:
    case KW_IMAG:
        n = complex_part(p);
        break;
    default:
        n = postfix(p);
    }
    pli_parse_leave(p);
    return n;
}
